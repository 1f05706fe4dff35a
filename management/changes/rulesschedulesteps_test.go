package changes_test

import (
	"strings"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

const (
	pro    = `{"properties":[{"key":"plan","type":"person","operator":"exact","value":["pro"]}],"rollout_percentage":10}`
	others = `{"properties":[],"rollout_percentage":5}`
)

var rolloutStepRows = []ruletest.Row{
	{"console.md N24", "bob", "create", `{"key":"a","filters":{"groups":[` + pro + `,` + others + `]}}`, `{"id":1}`},
	{"console.md N24", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", flagtest.Steps(0, 25), `"change_note":"more of them"`), `{"id":1,"change_note":"more of them","condition":"(absent)"}`},
	{"console.md N24", "bob", "schedule", flagtest.Later("2026-01-04T00:00:00Z", flagtest.Steps(0, 50)), `{"id":2}`},
	{"console.md N24", "bob", "schedule", flagtest.Later("2026-01-05T00:00:00Z", flagtest.Steps(0, 75)), `{"id":3}`},
	{"console.md N24 trying it changes nothing", "bob", "get 1", ``, `{"version":1,"filters":{"groups":[{"rollout_percentage":10},{"rollout_percentage":5}]}}`},
	{"console.md N24 the share of one condition", "bob", "wait 12h", ``, `null`},
	{"console.md N24 the share of one condition", "bob", "due", ``, `1`},
	{"console.md N24 the share of one condition", "bob", "get 1", ``, `{"version":2,"filters":{"groups":[{"properties":[{"key":"plan"}],"rollout_percentage":25},{"properties":[],"rollout_percentage":5}]}}`},
	{"console.md N22 its note", "bob", "versions 1", `{"Limit":1}`, `{"results":[{"version":2,"change_note":"more of them"}]}`},
	{"console.md N24 it has moved, its share was changed by hand", "bob", "change 1", `{"filters":{"groups":[` + others + `,` + strings.Replace(pro, "10", "30", 1) + `]}}`, `{"version":3}`},
	{"console.md N24 it has moved", "bob", "wait 24h", ``, `null`},
	{"console.md N24 it has moved", "bob", "due", ``, `1`},
	{"console.md N24 it has moved", "bob", "get 1", ``, `{"version":4,"filters":{"groups":[{"properties":[],"rollout_percentage":5},{"properties":[{"key":"plan"}],"rollout_percentage":50}]}}`},
	{"console.md N24 it is gone", "bob", "change 1", `{"filters":{"groups":[` + others + `]}}`, `{"version":5}`},
	{"console.md N24 it is gone: nobody gets what was not meant for them", "bob", "wait 24h", ``, `null`},
	{"console.md N24 it is gone", "bob", "due", ``, `1`},
	{"console.md N24 it is gone", "bob", "get 1", ``, `{"version":5,"filters":{"groups":[{"rollout_percentage":5}]}}`},
	{"console.md N24 it says why", "bob", "getschedule 3", ``, `{"failure_reason":"(like) has changed since","executed_at":"(like) ^2026-01-05"}`},
	{"console.md N24 two alike, neither in its place", "bob", "create", `{"key":"b","filters":{"groups":[` + pro + `]}}`, `{"id":2}`},
	{"console.md N24 two alike", "bob", "schedule", strings.Replace(flagtest.Later("2026-01-06T00:00:00Z", flagtest.Steps(0, 75)), `"record_id":1`, `"record_id":2`, 1), `{"id":4,"record_id":"2"}`},
	{"console.md N24 two alike", "bob", "change 2", `{"filters":{"groups":[` + others + `,` + pro + `,` + pro + `]}}`, `{"version":2}`},
	{"console.md N24 two alike", "bob", "wait 24h", ``, `null`},
	{"console.md N24 two alike", "bob", "due", ``, `1`},
	{"console.md N24 two alike", "bob", "getschedule 4", ``, `{"failure_reason":"(like) has changed since"}`},
	{"console.md N24 another place is meant after an edit", "bob", "schedule", strings.Replace(flagtest.Later("2026-01-07T00:00:00Z", flagtest.Steps(1, 75)), `"record_id":1`, `"record_id":2`, 1), `{"id":5}`},
	{"console.md N24 another place is meant after an edit", "bob", "changeschedule 5", `{"payload":` + flagtest.Steps(0, 6) + `}`, `{"id":5}`},
	{"console.md N24 another place is meant after an edit", "bob", "wait 24h", ``, `null`},
	{"console.md N24 another place is meant after an edit", "bob", "due", ``, `1`},
	{"console.md N24 another place is meant after an edit", "bob", "get 2", ``, `{"filters":{"groups":[{"properties":[],"rollout_percentage":6},{"rollout_percentage":10},{"rollout_percentage":10}]}}`},
}
