package library_test
import ("testing";"time";"fmt";"os";"path/filepath";"strings";"hallmark.dev/hallmark/lua/vm")
func TestFiles(t *testing.T){
 fs,_:=filepath.Glob("/tmp/h/perf/*.lua")
 obj:=map[string]any{"kind":"X","metadata":map[string]any{"name":"a","generation":int64(2)},"status":map[string]any{"observedGeneration":int64(2),"conditions":[]any{map[string]any{"type":"Synced","status":"True","reason":"R"},map[string]any{"type":"Ready","status":"True","reason":"R"}}}}
 scripts:=map[string]string{}; best:=map[string]time.Duration{}
 for _,f:=range fs { b,_:=os.ReadFile(f); scripts[f]=string(b); best[f]=time.Hour }
 for k:=0;k<1500;k++ { for _,f:=range fs { st:=time.Now(); _,err:=vm.RunTrusted(scripts[f],strings.Contains(f,"libs"),obj); d:=time.Since(st); if err!=nil {t.Fatal(f,err)}; if d<best[f] {best[f]=d} } }
 for _,f:=range fs { fmt.Println(best[f], filepath.Base(f)) }
}
