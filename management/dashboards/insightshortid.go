package dashboards

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// shortIDLength is the number of characters of a short id.
const shortIDLength = 8

// shortIDAlphabet are the characters of short ids, digits first.
const shortIDAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// shortIDOf derives the short id of an insight from its UUID. attempt is the number of earlier
// results that other insights already have. The result begins with a letter, so that a path can
// have either of the two ids (spec/clients.md §1.1).
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

// short returns the short id. For insights that were created before there were short ids, it is the
// first one that follows from the UUID.
func (i *insightRecord) short() string {
	if i.ShortID == "" {
		return shortIDOf(i.UUID, 0)
	}
	return i.ShortID
}

// isShortID reports whether text has the form of a short id. It may also begin with a digit, but
// must contain a letter.
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

// shortIDKey returns the Record.Unique of an insight, which contains its short id.
func shortIDKey(project int64, short string) string {
	return management.ProjectParent(project) + "/" + short
}

// maxShortIDs is the number of further short ids that are tried if another insight has the first
// one.
const maxShortIDs = 10

// putInsight stores an insight without logging the change, and sets its short id if it has none.
func putInsight(tx management.Tx, project int64, i *insightRecord) error {
	r := management.Record{Kind: kindInsight, Parent: management.ProjectParent(project), ID: i.id(), Sort: storage.SortTime(i.Created.Time), Hidden: i.Deleted}
	for attempt := 0; ; attempt++ {
		if i.ShortID == "" || attempt > 0 {
			i.ShortID = shortIDOf(i.UUID, attempt)
		}
		r.Unique, r.Data = shortIDKey(project, i.ShortID), storage.Encode(i)
		// With 62^8 short ids a collision is improbable, but the store rejects it.
		if err := tx.Put(&r); !errors.Is(err, management.ErrDuplicate) || attempt == maxShortIDs {
			return err
		}
	}
}

// insightByShortID returns an insight by its short id, deleted or not, or nil if it does not exist.
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
		// Insights that were created before there were short ids have no Unique.
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

// readInsight decodes a record of an insight and sets its short id. It returns nil if r is nil.
func readInsight(r *management.Record) (*insightRecord, error) {
	i, err := management.Decode[insightRecord](r)
	if i != nil {
		i.ShortID = i.short()
	}
	return i, err
}
