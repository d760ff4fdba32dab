package health

import _ "embed"

// Schema is the JSON Schema of a HealthCheck, for editors. It accepts every
// document that Parse accepts; what needs CEL or a look at several rules at once is
// for Parse alone.
//
//go:embed schema.json
var Schema []byte
