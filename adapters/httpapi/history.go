package httpapi

import (
	"log/slog"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/capture"
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

func readerOf(s *frame.Server) *reader {
	return &reader{s.History, s.People, s.Management, s.Decider.Now, s.Logger}
}
