package library_test
import ("testing";"time";"fmt";"os";"path/filepath";"strings";lua "github.com/yuin/gopher-lua";"github.com/yuin/gopher-lua/parse";"text/scanner")
func TestParts(t *testing.T){
 fs,_:=filepath.Glob("/tmp/h/perf/*.lua")
 for _,f:=range fs { b,_:=os.ReadFile(f); p,c,l:=time.Hour,time.Hour,time.Hour
 for k:=0;k<500;k++ { st:=time.Now(); chunk,err:=parse.Parse(strings.NewReader(string(b)),"x"); if err!=nil{t.Fatal(f,err)}; d:=time.Since(st); if d<p {p=d}
  st=time.Now(); lua.Compile(chunk,"x"); if d:=time.Since(st); d<c {c=d} 
  _=l }
 var s scanner.Scanner; s.Init(strings.NewReader(func() string { var o []string; for _,x:=range strings.Split(string(b),"\n") { if !strings.HasPrefix(strings.TrimSpace(x),"--") {o=append(o,x)}}; return strings.Join(o,"\n")}())); n:=0; for s.Scan()!=scanner.EOF {n++}
 fmt.Println("parse",p,"compile",c,"tokens",n,filepath.Base(f)) }
}
