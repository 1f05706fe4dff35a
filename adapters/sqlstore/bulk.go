package sqlstore

import (
	"database/sql"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// bulkSizes are how many rows a statement of several takes. Few sizes make few
// statements to prepare; what is left over goes to the next smaller size. The
// largest saves ways over the network and is for PostgreSQL alone.
var bulkSizes = [...]int{400, 64, 32, 16, 8, 4, 2, 1}

// bulk is a statement that takes many rows at once. Its texts, by size, are made
// when they are first needed: a start should not pay for all of them.
type bulk struct {
	fixed int // arguments that come once, before those of the rows
	// texts have numbered arguments. plain are for SQLite, with ? for each: it looks
	// up the name of each numbered one, which takes longer the more there are.
	texts, plain func() *bulkTexts
}

type bulkTexts = [len(bulkSizes)]string

// newInsert makes a bulk statement of head VALUES ($1, $2), ($3, $4) tail.
func newInsert(head string, columns int, tail string) bulk {
	return newBulk(head+" VALUES ", "(", columns, ")", " "+tail, 0)
}

// newLookup makes a bulk statement of head IN ($2, $3), whose first fixed arguments
// stand in head.
func newLookup(head string, fixed int) bulk { return newBulk(head+" IN (", "", 1, "", ")", fixed) }

// The types of the keys of finds in PostgreSQL.
const (
	textKey  = `text COLLATE "C"`
	bytesKey = "bytea"
)

// newFind makes a bulk query for rows by a key that is unique where fixed arguments
// have chosen: SELECT columns FROM from AND key IN ($2, $3). PostgreSQL is made to
// look up one key after the other. While it has no statistics it would rather read
// all rows that the fixed arguments choose, which may be a project's every person.
func newFind(columns, from, key, keyType string, fixed int) bulk {
	b := newLookup("SELECT "+columns+" FROM "+from+" AND "+key, fixed)
	b.texts = newBulk("SELECT found.* FROM (VALUES ", "(", 1, "::"+keyType+")",
		") AS wanted (key) CROSS JOIN LATERAL (SELECT "+columns+" FROM "+from+" AND "+key+" = wanted.key LIMIT 1) AS found", fixed).texts
	return b
}

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

// numbered is an argument by number. In the text of a bulk they come in order.
var numbered = regexp.MustCompile(`\$[0-9]+`)

// chunks calls do with the text, the first row and the number of rows of each
// statement that n rows take.
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

// run calls do with each statement that n rows take, and its arguments: the fixed ones,
// then those that row appends.
func (b *bulk) run(d *dialect, fixed []any, n int, row func(args []any, i int) []any, do func(text string, args ...any) error) error {
	return b.chunks(d, n, func(text string, from, rows int) error {
		args := slices.Clone(fixed)
		for i := from; i < from+rows; i++ {
			args = row(args, i)
		}
		return do(text, args...)
	})
}

// arguments collects those of some rows; row appends those of one.
func (t *ledgerTx) arguments(fixed []any, from, rows int, row func(args []any, i int) []any) []any {
	t.args = append(t.args[:0], fixed...)
	for i := from; i < from+rows; i++ {
		t.args = row(t.args, i)
	}
	return t.args
}

// insert runs a bulk statement for n rows.
func (t *ledgerTx) insert(b *bulk, n int, row func(args []any, i int) []any) error {
	return b.chunks(&t.store.dialect, n, func(text string, from, rows int) error {
		_, err := t.exec(text, t.arguments(nil, from, rows, row)...)
		return err
	})
}

// find runs a bulk query for n rows, and scan for each row of the answers.
func (t *ledgerTx) find(b *bulk, fixed []any, n int, row func(args []any, i int) []any, scan func(rows *sql.Rows) error) error {
	return b.chunks(&t.store.dialect, n, func(text string, from, rows int) error {
		return t.each(scan, text, t.arguments(fixed, from, rows, row)...)
	})
}

// findTexts is find for texts, one a row.
func (t *ledgerTx) findTexts(b *bulk, texts []string, scan func(rows *sql.Rows) error, fixed ...any) error {
	return t.find(b, fixed, len(texts), func(args []any, i int) []any { return append(args, texts[i]) }, scan)
}

// findExisting are those of some texts that a bulk query of one column finds.
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
