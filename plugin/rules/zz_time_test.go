package rules
import ("testing";"fmt";"time";"hallmark.dev/hallmark/internal/object")
func TestZZ(t *testing.T){
 var list []object.Object
 for i:=0;i<5000;i++{
  n:=fmt.Sprintf("checkout-%c%c%c",'a'+i%26,'a'+i/26%26,'a'+i/676%26)
  list=append(list,objects(t,fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s}\nspec:\n  template:\n    metadata: {labels: {app: %s, team: a}}\n    spec: {containers: [{name: a, image: a:1, ports: [{name: http, containerPort: 80}]}]}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec: {selector: {app: %s, team: a}, ports: [{port: 80, targetPort: http}]}\n---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: %s}\nspec: {minAvailable: 1, selector: {matchLabels: {app: %s, team: a}}}\n---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: %s}\nspec: {rules: [{http: {paths: [{backend: {service: {name: x%s, port: {number: 80}}}}]}}]}\n",n,n,n,n,n,n,n,n))...)
 }
 for _,r:=range All(){ s:=time.Now(); Check(list,Options{Namespace:"shop",Enabled:func(x string)bool{return x==r.ID}}); if d:=time.Since(s);d>200*time.Millisecond{fmt.Println(r.ID,d)}}
}
