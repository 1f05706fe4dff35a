package featureflags_test

import (
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// console.md N10: short rows, their filters and orders; C7: one status of a flag in all places.
func TestFlags_Rows(t *testing.T) {
	w := ruletest.New(t, memstore.New(memstore.ExternalData{FlagCalls: map[memstore.Flag][]management.FlagCall{
		{Project: ruletest.Project, Key: "on"}: {
			{Value: "false", Last: ruletest.Start.Add(2 * time.Hour)}, {Value: "true", Last: ruletest.Start.Add(time.Hour)},
		},
		{Project: ruletest.Project, Key: "off"}:     {{Value: "true", Last: ruletest.Start.Add(3 * time.Hour)}},
		{Project: ruletest.TheirProject, Key: "on"}: {{Value: "true", Last: ruletest.Start.Add(9 * time.Hour)}},
	}}))
	w.Run(t, flagtest.RoomCalls(t, w), flagtest.Rows(
		[]ruletest.Row{
			{"N10", "bob", "create", `{"key":"old","filters":{"groups":[{"properties":[],"rollout_percentage":100}]}}`, `{"id":1}`},
			{"N10", "bob", "wait 721h", ``, `null`},
			{"N10", "bob", "create", `{"key":"on","name":"On","tags":["x"],"filters":{"groups":[{"rollout_percentage":50},{"rollout_percentage":50}]}}`, `{"id":2}`},
			{"N10", "cyd", "create", `{"key":"off","active":false,"filters":{"groups":[{"rollout_percentage":10},{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":60},{"key":"b","rollout_percentage":40}]}}}`, `{"id":3}`},
			{"N10", "cyd", "create", `{"key":"put-away","active":false,"archived":true,"is_remote_configuration":true}`, `{"id":4}`},
			{"N10 a row", "bob", "rows", `{"Search":"on"}`, `{"count":1,"results":[{"id":2,"key":"on","name":"On","active":true,"archived":false,"deleted":false,"status":"ACTIVE",` +
				`"status_reason":"Flag is not fully rolled out and may still be active","tags":["x"],"version":1,"created_by":{"id":2},"last_modified_by":{"id":2},` +
				`"rollout_percentage":50,"conditions":2,"variants":0,"everybody":false,"kind":"boolean","last_called_at":"2026-01-02T14:00:00Z","can_edit":true}]}`},
			{"N10 shares that differ", "bob", "rows", `{"Search":"off"}`, `{"results":[{"status":"INACTIVE","rollout_percentage":null,"conditions":2,"variants":2,"kind":"multivariate"}]}`},
			{"N10 the archive", "bob", "rows", `{"Archived":true}`, `{"count":1,"results":[{"key":"put-away","archived":true,"kind":"remote_config"}]}`},
			{"N10 another project's", "dan", "rows", `{}`, `{"count":0}`},
		},
		flagtest.Each("N10 status", "bob", "keys",
			[2]string{`{"Status":["active"]}`, `["on"]`},
			[2]string{`{"Status":["stale"]}`, `["old"]`},
			[2]string{`{"Status":["inactive"]}`, `["off"]`},
			[2]string{`{"Status":["archived"]}`, `["put-away"]`},
			[2]string{`{"Status":["archived","stale"]}`, `["put-away","old"]`},
			[2]string{`{"Status":["gone"]}`, `400 invalid_input status Must be one of active, inactive, stale, archived.`},
		),
		flagtest.Each("N10 mine: made or last changed", "bob", "keys",
			[2]string{`{"Mine":2}`, `["on","old"]`},
			[2]string{`{"Mine":3,"Archived":true}`, `["put-away"]`},
		),
		flagtest.Each("N10 order", "bob", "keys",
			[2]string{`{"Order":"status"}`, `["on","off","old"]`},
			[2]string{`{"Order":"-status"}`, `["old","off","on"]`},
			[2]string{`{"Order":"last_called_at"}`, `["old","on","off"]`},
			[2]string{`{"Order":"-last_called_at"}`, `["off","on","old"]`},
		),
		[]ruletest.Row{
			{"N10 a change makes it mine", "bob", "change 3", `{"name":"now mine"}`, `{"version":2}`},
			{"N10 a change makes it mine", "bob", "keys", `{"Mine":2}`, `["off","on","old"]`},
		},
	))
}
