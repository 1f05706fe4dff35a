package changes_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// Decision 44: recurring changes follow the clock of the project.
func TestScheduledChanges_ProjectTimeZone(t *testing.T) {
	w := flagtest.New(t)
	w.InZone(t, "Europe/Berlin")
	w.Run(t, flagtest.RoomCalls(t, w), berlinRows)
}

// Decision 44: the times follow the clock of the project. In Berlin it is set forward on 29 March
// 2026 and back on 25 October 2026.
var berlinRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	repeated("daily", 1, "2026-03-27T08:00:00Z", "2026-03-28T08:00:00Z", "2026-03-29T07:00:00Z", "2026-03-30T07:00:00Z"),
	repeated("daily", 2, "2026-03-28T01:30:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"), // 02:30 does not exist on the 29th
	repeated("weekly", 3, "2026-10-20T07:00:00Z", "2026-10-27T08:00:00Z", "2026-11-03T08:00:00Z"),
	repeated("monthly", 4, "2026-10-30T23:30:00Z", "2026-11-29T23:30:00Z", "2026-12-30T23:30:00Z"), // the 31st, 00:30
	repeated("yearly", 5, "2026-03-28T08:00:00Z", "2027-03-28T07:00:00Z", "2028-03-28T07:00:00Z"),
)
