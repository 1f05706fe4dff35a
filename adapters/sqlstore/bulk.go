package sqlstore

import (
	"database/sql"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// bulkSizes are the numbers of rows of one statement with several rows. Few sizes mean
// few statements to prepare; a remainder is split into the next smaller sizes. The
// largest size saves network round trips and is used only on PostgreSQL.
var bulkSizes = [...]int{400, 64, 32, 16, 8, 4, 2, 1}

// bulk is a statement for many rows. Its texts, one for each of bulkSizes, are built on
// first use, so that they do not slow down the start.
type bulk struct {
	fixed int // number of arguments before the arguments of the rows
	// texts have numbered arguments. plain are for SQLite and have ? for each argument:
	// SQLite looks up numbered arguments by name, which is slow for long statements.
	texts, plain func() *bulkTexts
}

type bulkTexts = [len(bulkSizes)]string

// newInsert returns the bulk statement head VALUES ($1, $2), ($3, $4) tail.
func newInsert(head string, columns int, tail string) bulk {
	return newBulk(head+" VALUES ", "(", columns, ")", " "+tail, 0)
}

// newLookup returns the bulk statement head IN ($2, $3). The first fixed arguments are
// used in head.
func newLookup(head string, fixed int) bulk { return newBulk(head+" IN (", "", 1, "", ")", fixed) }

// The types of lookup keys in PostgreSQL.
const (
	textKey  = `text COLLATE "C"`
	bytesKey = "bytea"
)

// newFind returns a bulk query for rows by a key that is unique among the rows selected
// by the fixed arguments: SELECT columns FROM from AND key IN ($2, $3). On PostgreSQL a
// lateral join forces one index lookup for each key. Without statistics its planner
// would prefer to read all rows that the fixed arguments select, which may be all
// persons of a project.
func newFind(columns, from, key, keyType string, fixed int) bulk {
	b := newLookup("SELECT "+columns+" FROM "+from+" AND "+key, fixed)
	b.texts = newBulk("SELECT found.* FROM (VALUES ", "(", 1, "::"+keyType+")",
		") AS wanted (key) CROSS JOIN LATERAL (SELECT "+columns+" FROM "+from+" AND "+key+" = wanted.key LIMIT 1) AS found", fixed).texts
	return b
}

// newBulk returns the bulk statement with the texts head, then before, columns
// arguments and after for each row, then tail.
func newBulk(head, before string, columns int, after, tail string, fixed int) bulk {
	write := func(plain bool) *bulkTexts {
		out := &bulkTexts{}
		for i, rows := range bulkSizes {
			var text strings.Builder
			text.WriteString(head)
			for n := range rows * columns {
				switch {
				case n == 0:
					text.WriteString(before)
				case n%columns == 0:
					text.WriteString(after + ", " + before)
				default:
					text.WriteString(", ")
				}
				text.WriteString("$" + strconv.Itoa(fixed+n+1))
			}
			out[i] = text.String() + after + tail
			if plain {
				out[i] = numbered.ReplaceAllString(out[i], "?")
			}
		}
		return out
	}
	return bulk{
		fixed: fixed,
		texts: sync.OnceValue(func() *bulkTexts { return write(false) }),
		plain: sync.OnceValue(func() *bulkTexts { return write(true) }),
	}
}

// numbered matches a numbered argument. In the text of a bulk statement the numbers are
// in ascending order, so that ? in their places means the same.
var numbered = regexp.MustCompile(`\$[0-9]+`)

// chunks splits n rows into statements and calls do with the text, the index of the
// first row and the number of rows of each. It stops at the first error.
func (b *bulk) chunks(d *dialect, n int, do func(text string, from, rows int) error) error {
	from, texts, largest := 0, b.texts, 0
	if d.singleWriter {
		texts, largest = b.plain, 1
	}
	for i, size := range bulkSizes {
		if i < largest {
			continue
		}
		for ; n-from >= size; from += size {
			if err := do(texts()[i], from, size); err != nil {
				return err
			}
		}
	}
	return nil
}

// run calls do with each of the statements for n rows and with its arguments: the fixed
// arguments, then the arguments that the function row appends for each row i.
func (b *bulk) run(d *dialect, fixed []any, n int, row func(args []any, i int) []any, do func(text string, args ...any) error) error {
	return b.chunks(d, n, func(text string, from, rows int) error {
		args := slices.Clone(fixed)
		for i := from; i < from+rows; i++ {
			args = row(args, i)
		}
		return do(text, args...)
	})
}

// arguments returns the arguments for some rows, in a buffer that the next call
// overwrites; row appends the arguments of row i.
func (t *ledgerTx) arguments(fixed []any, from, rows int, row func(args []any, i int) []any) []any {
	t.args = append(t.args[:0], fixed...)
	for i := from; i < from+rows; i++ {
		t.args = row(t.args, i)
	}
	return t.args
}

// insert executes a bulk statement for n rows.
func (t *ledgerTx) insert(b *bulk, n int, row func(args []any, i int) []any) error {
	return b.chunks(&t.store.dialect, n, func(text string, from, rows int) error {
		_, err := t.exec(text, t.arguments(nil, from, rows, row)...)
		return err
	})
}

// find runs a bulk query for n rows and calls scan for each row of the results.
func (t *ledgerTx) find(b *bulk, fixed []any, n int, row func(args []any, i int) []any, scan func(rows *sql.Rows) error) error {
	return b.chunks(&t.store.dialect, n, func(text string, from, rows int) error {
		return t.each(scan, text, t.arguments(fixed, from, rows, row)...)
	})
}

// findTexts is like find for one string argument in each row.
func (t *ledgerTx) findTexts(b *bulk, texts []string, scan func(rows *sql.Rows) error, fixed ...any) error {
	return t.find(b, fixed, len(texts), func(args []any, i int) []any { return append(args, texts[i]) }, scan)
}

// findExisting returns the set of texts that a bulk query with one column finds.
func (t *ledgerTx) findExisting(b *bulk, texts []string, fixed ...any) (map[string]bool, error) {
	existing := map[string]bool{}
	err := t.findTexts(b, texts, func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		existing[text] = true
		return err
	}, fixed...)
	return existing, err
}
