canonical='
def unset(f): if f == null or f == {} then del(f) else . end;
.metadata |= (
  (.annotations | objects) |= del(.[
    "hallmark.dev/object-hash", "hallmark.dev/render-hash",
    "hallmark.dev/inputs-hash", "hallmark.dev/source-revision",
    "hallmark.dev/renderer", "argocd.argoproj.io/tracking-id",
    "argocd.argoproj.io/installation-id"])
  | (.labels | objects) |= del(.["app.kubernetes.io/instance"])
  | (.finalizers | arrays) |= map(select(. != "argocd.argoproj.io/hook-finalizer"))
  | unset(.annotations) | unset(.labels)
  | if .finalizers == [] then del(.finalizers) else unset(.finalizers) end)
| unset(.metadata)
| if .apiVersion == "v1" and .kind == "Secret" then
    (.data, .stringData | values) |=
      if type == "object" then map_values(null) else null end
  else . end'
identity='
def text: strings // "";
[(.apiVersion | text | if contains("/") then split("/")[0] else "" end),
 (.kind | text), (.metadata.namespace | text), (.metadata.name | text)] | @tsv'

# The object hashes, in the order of objects.json.
jq -cS "$canonical" objects.json | while IFS= read -r object; do
  printf '%s' "$object" | sha256sum
done | sed 's/ .*//; s/^/sha256:/' | tee hashes.txt

# The render hash.
jq -r "$identity" objects.json | paste - hashes.txt | LC_ALL=C sort | cut -f5 |
  sha256sum | sed 's/ .*//; s/^/sha256:/'
