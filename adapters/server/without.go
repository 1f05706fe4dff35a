package server

import (
	"errors"
	"fmt"

	"github.com/bunting-flags/bunting/management/rooms"
)

// partOptions are options that need a part.
var partOptions = []struct {
	name, part string
	needs      Parts
	isSet      func(*Options) bool
}{
	{"Options.Stream.URL", "Capture", Capture, func(o *Options) bool { return o.Stream.URL != "" }},
	{"Options.RetainDays", "Capture", Capture, func(o *Options) bool { return o.RetainDays != 0 }},
	{"Options.SMTP.URL", "Management", Management, func(o *Options) bool { return o.SMTP.URL != "" }},
	{"Options.Authenticate", "Management", Management, func(o *Options) bool { return o.Authenticate != nil }},
}

// checkParts returns an error if the options do not fit the parts in Without.
func (o *Options) checkParts() error {
	for _, m := range partOptions {
		if m.isSet(o) && o.Without.has(m.needs) {
			return fmt.Errorf("%s is for the part %s, which Options.Without leaves out", m.name, m.part)
		}
	}
	switch {
	case o.Without.has(Flags) && !o.Without.has(Management):
		return errors.New("Options.Without leaves out Flags, which Management needs: leave out Management too")
	case o.Without.has(Flags | Capture):
		return errors.New("Options.Without leaves out both Flags and Capture: nothing is left to serve")
	case o.Without.has(Capture|Management) && o.Data == "" && o.Database == "" && len(o.Definitions) == 0:
		return errors.New("there are no flags and none can be created: set Options.Definitions, Options.Data or Options.Database")
	}
	return nil
}

// needsNoStore reports whether a server needs no store, because it serves only the flags of files.
func (o *Options) needsNoStore() bool {
	return o.Without.has(Capture|Management) && o.Data == "" && o.Database == ""
}

// serveRooms sets the packages of management that are served.
func (p *parts) serveRooms(all *rooms.Rooms) {
	if p.Without.has(Management) {
		return
	}
	some := *all
	if p.Without.has(Exports) {
		some.BatchExports = nil
	}
	if p.Without.has(ErrorTracking) {
		some.ErrorTracking = nil
	}
	p.rooms = &some
}
