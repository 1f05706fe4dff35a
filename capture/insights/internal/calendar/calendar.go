package calendar

import (
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
)

// Calendar converts between instants and local time: it has the project's time zone and first day
// of the week.
type Calendar struct {
	Zone      *time.Location
	WeekStart time.Weekday
}

// Clock returns the local time at an instant, as a time in UTC.
func (c Calendar) Clock(t time.Time) time.Time { return hogql.Clock(t, c.Zone) }

// Local returns the first instant at which the local clock shows the time w.
func (c Calendar) Local(w time.Time) time.Time { return hogql.Local(w, c.Zone) }
