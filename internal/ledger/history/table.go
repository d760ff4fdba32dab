package history

import (
	"fmt"
	"strings"
)

// maxName is how many bytes of a name PostgreSQL keeps. It cuts a longer one, and would
// find another table by it.
const maxName = 63

// A table is the name of one. Without a schema it is found on the search_path.
type table struct{ schema, name string }

// parse reads "table" or "schema.table".
func parse(text string) (table, error) {
	var t table
	parts := strings.Split(text, ".")
	switch len(parts) {
	case 1:
		t = table{name: parts[0]}
	case 2:
		t = table{parts[0], parts[1]}
	}
	for _, part := range parts {
		if len(parts) > 2 || part == "" || len(part) > maxName || strings.ContainsRune(part, 0) {
			return table{}, fmt.Errorf("table %q: want \"table\" or \"schema.table\", names of up to %d bytes", text, maxName)
		}
	}
	return t, nil
}

// String is the name in SQL. All that stands between the quotes is one name.
func (t table) String() string {
	quoted := func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
	if t.schema == "" {
		return quoted(t.name)
	}
	return quoted(t.schema) + "." + quoted(t.name)
}

// plain is the name as a person writes it.
func (t table) plain() string { return strings.TrimPrefix(t.schema+"."+t.name, ".") }

// beside is another table in the same place.
func (t table) beside(name string) table { return table{t.schema, name} }

// in puts the name in the place of {table}.
func (t table) in(sql string) string { return strings.ReplaceAll(sql, "{table}", t.String()) }

// lockHeld is an SQL expression: whether the lock table whose name is in the parameter
// has a row for which the condition holds. It is NULL where there is no such table, it
// lacks one of the columns, or the role may not read them.
//
// A statement cannot name a table that may not be there. query_to_xml is PostgreSQL's
// own way to run a query that is given as text within another: as the same role, and of
// the same moment.
func lockHeld(parameter, condition string, columns ...string) string {
	return fmt.Sprintf(`(
    SELECT query_to_xml(format('SELECT FROM %%s WHERE %s', attrelid::regclass), false, false, '')::text LIKE '%%<row%%'
    FROM pg_attribute
    WHERE attrelid = to_regclass(%s) AND attname IN ('%s') AND atttypid IN ('boolean'::regtype, 'timestamptz'::regtype)
        AND has_column_privilege(attrelid, attnum, 'SELECT')
    GROUP BY attrelid HAVING count(*) = %d)`, condition, parameter, strings.Join(columns, "', '"), len(columns))
}
