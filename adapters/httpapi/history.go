package httpapi

import (
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// reader serves persons, groups and events.
type reader struct {
	history    capture.History
	people     *capture.People // if nil, the data cannot be changed
	management *rooms.Rooms
	now        func() time.Time
	log        *slog.Logger
}

func readerOf(s *server) *reader {
	return &reader{s.History, s.People, s.Management, s.Decider.Now, s.Logger}
}

// instant is a time that is never null: its zero value is the first moment of the year 1, which
// events may have.
type instant time.Time

// MarshalJSON implements json.Marshaler.
func (t instant) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte(`"0001-01-01T00:00:00Z"`), nil
	}
	return management.Stamp{Time: time.Time(t)}.MarshalJSON()
}

// boolParameter reports whether a query parameter is set: it is present, with any value except
// false, 0 and no, in any case.
func boolParameter(q url.Values, name string) bool {
	if !q.Has(name) {
		return false
	}
	switch strings.ToLower(q.Get(name)) {
	case "false", "0", "no":
		return false
	}
	return true
}
