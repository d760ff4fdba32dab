package rules

import (
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

// A migrator is a command that changes a schema: a program, the last element of its
// path or of the image's repository, and one of the words behind it, or none.
type migrator struct {
	programs, words []string
}

var migrators = []migrator{
	{[]string{"flyway"}, []string{"migrate"}},
	{[]string{"liquibase"}, []string{"update", "update-count", "update-to-tag", "updateToTag", "migrate"}},
	{[]string{"migrate"}, []string{"up", "goto"}},
	{[]string{"goose", "dbmate", "tern", "umzug", "db-migrate", "node-pg-migrate", "migrate-mongo"}, []string{"up", "up-to", "up-by-one", "migrate"}},
	{[]string{"atlas"}, []string{"apply"}},
	{[]string{"alembic", "flask", "superset", "airflow"}, []string{"upgrade", "migrate"}},
	{[]string{"prisma"}, []string{"migrate", "push"}},
	{[]string{"typeorm", "mikro-orm"}, []string{"migration:run", "migration:up"}},
	{[]string{"manage.py", "django-admin", "drizzle-kit", "sqlx", "diesel", "skeema", "pgroll", "phinx", "refinery"}, []string{"migrate", "migration", "push", "start"}},
	{[]string{"sqitch"}, []string{"deploy"}},
	{[]string{"yoyo"}, []string{"apply"}},
	{[]string{"ef", "dotnet-ef"}, []string{"update"}},
	{[]string{"kong"}, []string{"migrations"}},
	{[]string{"temporal-sql-tool", "temporal-cassandra-tool"}, []string{"update-schema", "update"}},
	{[]string{"gh-ost", "pt-online-schema-change"}, nil},
}

// migrationWords change a schema whoever has them: tasks of Rails, Sequelize, Knex,
// Laravel, Doctrine and Ecto, and the subcommand that many programs of one's own have.
var migrationWords = []string{"db:migrate", "db:prepare", "db:schema:load", "migrate:latest", "migrate:up", "migrate:fresh", "doctrine:migrations:migrate", "ecto.migrate", "migrate"}

// checkChangeKey looks at all Jobs that Argo CD applies: a migration needs no hook to
// be one.
func checkChangeKey(r *render, report report) {
	for _, it := range r.items {
		if !it.is("batch", "Job") || it.pod == nil || len(it.moments) == 0 {
			continue
		}
		var (
			at     = it.pod.at.under("containers")
			tool   string
			ledger bool
		)
		for _, c := range it.pod.containers() {
			words := commandWords(c)
			if i := slices.Index(words, "ledger"); i >= 0 && i+1 < len(words) && words[i+1] == "run" {
				ledger = true
				if !slices.ContainsFunc(words, func(w string) bool { return w == "--change-key" || strings.HasPrefix(w, "--change-key=") }) {
					report(it, c.at, "the container %q runs a command under the ledger without --change-key", c.name())
				}
				break
			}
			if tool == "" {
				if tool = migrationIn(words, imageProgram(c)); tool != "" {
					at = c.at
				}
			}
		}
		switch {
		case ledger:
		case tool != "":
			report(it, at, "%q changes a schema and runs without a change key", tool)
		case namesMigration(it.id.Name):
			report(it, nil, "the Job is a migration by its name and runs without a change key")
		}
	}
}

// commandWords are the words of a command and its arguments, those of a shell's
// script among them.
func commandWords(c container) []string {
	var out []string
	for _, list := range []string{"command", "args"} {
		for _, arg := range object.Items(c.value[list]) {
			out = append(out, strings.FieldsFunc(object.Text(arg), func(r rune) bool { return strings.ContainsRune(" \t\r\n;|&()\"'`", r) })...)
		}
	}
	return out
}

// imageProgram is the last element of the image's repository.
func imageProgram(c container) string {
	image, _, _ := strings.Cut(object.Text(c.value["image"]), "@")
	name, _, _ := strings.Cut(lastElement(image), ":")
	return name
}

func lastElement(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// migrationIn returns how the migration among the words is called, or "".
func migrationIn(words []string, program string) string {
	for i, word := range append([]string{program}, words...) {
		word = lastElement(word)
		for _, m := range migrators {
			if !slices.Contains(m.programs, word) {
				continue
			}
			if m.words == nil {
				return word
			}
			for _, next := range words[i:] {
				if slices.Contains(m.words, next) {
					return word + " " + next
				}
			}
		}
	}
	for _, word := range words {
		if slices.Contains(migrationWords, word) {
			return word
		}
	}
	return ""
}

// namesMigration reports whether one of the words of a name is "migration" or the
// like. The migration of stored custom resources is another thing.
func namesMigration(name string) bool {
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '.' })
	return slices.ContainsFunc(words, func(w string) bool { return w == "migrate" || w == "migration" || w == "migrations" }) &&
		!slices.ContainsFunc(words, func(w string) bool { return w == "crd" || w == "crds" || w == "storage" || w == "storageversion" })
}
