package database

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// BulkSizes are the numbers of rows of one statement with several rows. Few sizes mean
// few statements to prepare; a remainder is split into the next smaller sizes. The
// largest size saves network round trips and is used only on PostgreSQL.
var BulkSizes = [...]int{400, 64, 32, 16, 12, 8, 6, 4, 3, 2, 1}

// Bulk is a statement for many rows. Its texts, one for each of BulkSizes, are built on
// first use, so that they do not slow down the start.
type Bulk struct {
	Fixed int // number of arguments before the arguments of the rows
	// Texts have numbered arguments. plain are for SQLite and have ? for each argument:
	// SQLite looks up numbered arguments by name, which is slow for long statements.
	Texts, plain func() *bulkTexts
}

type bulkTexts = [len(BulkSizes)]string

// NewInsert returns the bulk statement head VALUES ($1, $2), ($3, $4) tail.
func NewInsert(head string, columns int, tail string) Bulk {
	return newBulk(head+" VALUES ", "(", columns, ")", " "+tail, 0)
}

// NewLookup returns the bulk statement head IN ($2, $3). The first fixed arguments are
// used in head.
func NewLookup(head string, fixed int) Bulk { return newBulk(head+" IN (", "", 1, "", ")", fixed) }

// The types of lookup keys in PostgreSQL.
const (
	TextKey  = `text COLLATE "C"`
	BytesKey = "bytea"
)

// NewFind returns a bulk query for rows by a key that is unique among the rows selected
// by the fixed arguments: SELECT columns FROM from AND key IN ($2, $3). On PostgreSQL a
// lateral join forces one index lookup for each key. Without statistics its planner
// would prefer to read all rows that the fixed arguments select, which may be all
// persons of a project.
func NewFind(columns, from, key, keyType string, fixed int) Bulk {
	b := NewLookup("SELECT "+columns+" FROM "+from+" AND "+key, fixed)
	b.Texts = newBulk("SELECT found.* FROM (VALUES ", "(", 1, "::"+keyType+")",
		") AS wanted (key) CROSS JOIN LATERAL (SELECT "+columns+" FROM "+from+" AND "+key+" = wanted.key LIMIT 1) AS found", fixed).Texts
	return b
}

// newBulk returns the bulk statement with the texts head, then before, columns
// arguments and after for each row, then tail.
func newBulk(head, before string, columns int, after, tail string, fixed int) Bulk {
	write := func(plain bool) *bulkTexts {
		out := &bulkTexts{}
		for i, rows := range BulkSizes {
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
				out[i] = Numbered.ReplaceAllString(out[i], "?")
			}
		}
		return out
	}
	return Bulk{
		Fixed: fixed,
		Texts: sync.OnceValue(func() *bulkTexts { return write(false) }),
		plain: sync.OnceValue(func() *bulkTexts { return write(true) }),
	}
}

// Numbered matches a numbered argument. In the text of a bulk statement the numbers are
// in ascending order, so that ? in their places means the same.
var Numbered = regexp.MustCompile(`\$[0-9]+`)

// Chunks splits n rows into statements and calls do with the text, the index of the
// first row and the number of rows of each. It stops at the first error.
func (b *Bulk) Chunks(d *Dialect, n int, do func(text string, from, rows int) error) error {
	from, texts, largest := 0, b.Texts, 0
	if d.SingleWriter {
		texts, largest = b.plain, 1
	}
	for i, size := range BulkSizes {
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

// Run calls do with each of the statements for n rows and with its arguments: the fixed
// arguments, then the arguments that the function row appends for each row i.
func (b *Bulk) Run(d *Dialect, fixed []any, n int, row func(args []any, i int) []any, do func(text string, args ...any) error) error {
	return b.Chunks(d, n, func(text string, from, rows int) error {
		args := slices.Clone(fixed)
		for i := from; i < from+rows; i++ {
			args = row(args, i)
		}
		return do(text, args...)
	})
}
