package history

import (
	"log/slog"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Reader serves persons, groups and events.
type Reader struct {
	History    capture.History
	people     *capture.People // if nil, the data cannot be changed
	management *rooms.Rooms
	now        func() time.Time
	log        *slog.Logger
}

func readerOf(s *frame.Server) *Reader {
	return &Reader{s.History, s.People, s.Management, s.Decider.Now, s.Logger}
}
