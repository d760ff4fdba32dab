package history

import (
	"context"
	"encoding/xml"
	"fmt"
	"time"

	"hallmark.dev/hallmark/internal/ledger"
)

// atlasTable is the name of Atlas's table, and of the schema that it makes for it where
// its URL names no schema. Source: cmd/atlas, revisionSchemaName.
const atlasTable = "atlas_schema_revisions"

// The bits of a revision's type. Source: ariga.io/atlas/sql/migrate, RevisionType.
const (
	atlasBaseline = 1
	atlasResolved = 4
)

// A revision is one row. Its executed_at is when it was first begun; its execution_time
// is only that of the last statement, so that there is no time of its end.
type revision struct {
	Version   string `xml:"version"`
	Type      int64  `xml:"type"`
	Applied   *int64 `xml:"applied"` // nil where it is NULL
	Total     *int64 `xml:"total"`
	Failed    bool   `xml:"failed"`
	StartedAt string `xml:"started_at"`
}

// atlasSQL reads the revisions that are asked for, and the first one of all. The table is
// that of the first name where it is there, else that of the second: see [lockHeld] for
// how one statement can read either. The row .atlas_cloud_identifier is no revision.
const atlasSQL = `
SELECT query_to_xml(format($text$
    SELECT version, type, applied, total, COALESCE(error, '') <> '' AS failed,
        CASE WHEN isfinite(executed_at) THEN executed_at END AS started_at
    FROM %1$s WHERE version <> '.atlas_cloud_identifier' AND (version IN (SELECT unnest(%2$L::text[]))
        OR version = (SELECT min(version COLLATE "C") FROM %1$s WHERE version <> '.atlas_cloud_identifier'))
$text$, COALESCE(to_regclass($1)::text, $2), $3::text[]), false, false, '')::text`

func readAtlas(ctx context.Context, db *ledger.DB, from table, keys []string) (lookup, error) {
	first := from
	if from == (table{name: atlasTable}) {
		first.schema = atlasTable
	}
	var answer struct {
		Rows []revision `xml:"row"`
	}
	err := db.Query(ctx, func(scan func(...any) error) error {
		var text string
		if err := scan(&text); err != nil {
			return err
		}
		if err := xml.Unmarshal([]byte(text), &answer); err != nil { // its text can have values
			return &ledger.Error{Kind: ledger.Other, Fact: "a row cannot be read"}
		}
		return nil
	}, atlasSQL, first.String(), from.String(), keys)

	revisions := map[string]revision{}
	var oldest string
	for _, r := range answer.Rows {
		revisions[r.Version] = r
		if oldest == "" || r.Version < oldest {
			oldest = r.Version
		}
	}
	return func(key string) ledger.Change {
		r, found := revisions[key]
		switch {
		case found:
			return r.change()
		case key < oldest:
			return unknown("no row, and the first recorded version is %s: a baseline or a checkpoint may cover what is before it", oldest)
		}
		return ledger.Change{State: ledger.Absent, Failure: "no row: not applied, or in a transaction that is not committed"}
	}, err
}

func (r revision) change() ledger.Change {
	c := ledger.Change{State: ledger.Succeeded, SchemaVersion: r.Version}
	// 2026-01-01T00:00:00+00:00, with the session's zone.
	if at, err := time.Parse(time.RFC3339, r.StartedAt); err == nil {
		c.StartedAt = &at
	}
	if r.Applied == nil || r.Total == nil {
		c.State, c.Failure = ledger.Unknown, "the row does not say how many statements were applied"
		return c
	}
	count := fmt.Sprintf("%d of %d statements", *r.Applied, *r.Total)
	switch {
	case r.Type&atlasResolved != 0:
		c.Failure = "a person marked it as applied, after " + count
	case r.Failed:
		c.State, c.Failure = ledger.Failed, "Atlas recorded an error after "+count
	case r.Type&atlasBaseline != 0:
		c.Failure = "marked as the baseline, not run"
	case *r.Applied != *r.Total:
		c.State, c.Failure = ledger.Unknown, "begun, "+count+" applied, no error: it is running or was killed"
	}
	return c
}
