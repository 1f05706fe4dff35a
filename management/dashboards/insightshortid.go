package dashboards

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// shortIDLength is how many characters a short id has.
const shortIDLength = 8

const shortIDAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// shortIDOf makes the short id of an insight out of its uuid; again is how many of
// them were another insight's. It is never a number, so that a path says which of
// the two ids it has (spec/clients.md §1.1).
func shortIDOf(uuid string, attempt int) string {
	sum := sha256.Sum256([]byte(uuid + "/" + strconv.Itoa(attempt)))
	n := binary.BigEndian.Uint64(sum[:])
	var out [shortIDLength]byte
	for i := range out {
		from := shortIDAlphabet
		if i == 0 {
			from = from[10:] // letters
		}
		out[i] = from[n%uint64(len(from))]
		n /= uint64(len(from))
	}
	return string(out[:])
}

// short is the short id; insights that were made before there were any have the
// one that follows from their uuid.
func (i *insightRecord) short() string {
	if i.ShortID == "" {
		return shortIDOf(i.UUID, 0)
	}
	return i.ShortID
}

func isShortID(text string) bool {
	digits := true
	for _, c := range []byte(text) {
		switch {
		case c >= '0' && c <= '9':
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
			digits = false
		default:
			return false
		}
	}
	return len(text) == shortIDLength && !digits
}

// shortIDKey is what only one insight of a project has.
func shortIDKey(project int64, short string) string {
	return management.ProjectParent(project) + "/" + short
}

// maxShortIDs is how many short ids are tried for an insight.
const maxShortIDs = 10

func putInsight(tx management.Tx, project int64, i *insightRecord) error {
	r := management.Record{Kind: kindInsight, Parent: management.ProjectParent(project), ID: i.id(), Sort: management.SortTime(i.Created.Time), Hidden: i.Deleted}
	for attempt := 0; ; attempt++ {
		if i.ShortID == "" || attempt > 0 {
			i.ShortID = shortIDOf(i.UUID, attempt)
		}
		r.Unique, r.Data = shortIDKey(project, i.ShortID), management.Encode(i)
		if err := tx.Put(&r); !errors.Is(err, management.ErrDuplicate) || attempt == maxShortIDs {
			return err
		}
	}
}

// insightByShortID returns an insight, deleted or not, nil when there is none.
func insightByShortID(tx management.Tx, project int64, short string) (*insightRecord, error) {
	if !isShortID(short) {
		return nil, nil
	}
	r, err := tx.Find(kindInsight, shortIDKey(project, short))
	if err != nil {
		return nil, err
	}
	for _, hidden := range []bool{false, true} {
		if r != nil {
			break
		}
		// It may be one that was made before there were any.
		list, _, err := tx.List(management.Query{Kind: kindInsight, Parent: management.ProjectParent(project), Hidden: hidden, Limit: 1, Match: func(r *management.Record) bool {
			i, err := management.Decode[insightRecord](r)
			return err == nil && r.Unique == "" && i.short() == short
		}})
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			r = &list[0]
		}
	}
	return readInsight(r)
}

func readInsight(r *management.Record) (*insightRecord, error) {
	i, err := management.Decode[insightRecord](r)
	if i != nil {
		i.ShortID = i.short()
	}
	return i, err
}
