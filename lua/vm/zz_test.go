package vm_test
import ("testing";"fmt";"hallmark.dev/hallmark/lua/vm")
func TestZZ(t *testing.T){
 for _,k := range []vm.Kind{{"cert-manager.io","Certificate"},{"argoproj.io","Rollout"},{"lifecycle.keptn.sh","KeptnApp"},{"apps.kruise.io","AdvancedCronJob"},{"solr.apache.org","SolrCloud"},{"gateway.solo.io","VirtualService"}} {
  s,_ := vm.Builtin(k.Group,k.Kind)
  src,err := vm.Read(s); if err!=nil {t.Fatal(err)}
  fmt.Println(k, src.Lacking(false), src.Lacking(true), src.Fenced())
  for _,f := range src.Fields { fmt.Printf("   %v %v %v\n", f.Path, f.Texts, f.Numbers) }
 }
}
