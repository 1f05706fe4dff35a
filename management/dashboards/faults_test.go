package dashboards_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/notices"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/rooms"
)

// newFaulty returns a store that can fail, and the function that RunFaulty needs.
func newFaulty() (*memstore.Faulty, func(after int) bool) {
	faulty := &memstore.Faulty{Store: memstore.New(memstore.ExternalData{}), After: -1}
	return faulty, func(after int) bool {
		failed := faulty.Failed
		faulty.After, faulty.Failed = after, false
		return failed
	}
}

// If any call of the store fails, the request fails with that error and changes no data: repeating
// it has the same result as without the failure.
func TestFaults(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"deletion": deletionRows, "restriction": restrictionRows, "collaborators": collaboratorRows, "copies": copyRows, "moves": moveRows, "moved": moreMoveRows,
		"templates": templateRows, "ready": readyRows, "copied tiles": tileCopyRows, "lists": listRows, "sharing": moreSharingRows[:9], "tokens": tokenRows, "strangers": strangerRows,
		"places": placeRows, "deleted insights": insightDeletedRows, "short ids": shortIDRows, "copies of insights": insightCopyRows[:4], "lists of insights": insightListRows[:14],
		"order of tiles": reorderRows, "views": viewRows, "trending": trendingRows[:12], "hidden dashboards": hiddenDashboardRows[:13], "references": hiddenReferenceRows[:7],
	} {
		t.Run(name, func(t *testing.T) {
			faulty, fail := newFaulty()
			w := ruletest.New(t, faulty)
			w.RunFaulty(t, accessCalls(t, w), rows, memstore.ErrDisk, fail)
		})
	}
	for name, rows := range map[string][]ruletest.Row{"alerts": alertMoveRows, "the log of alerts": alertLogRows[:5], "snoozing": snoozeRows()[:8]} {
		t.Run(name, func(t *testing.T) {
			faulty, fail := newFaulty()
			w := alertWorldOn(t, faulty)
			w.RunFaulty(t, w.calls(t), rows, memstore.ErrDisk, fail)
		})
	}
	for name, rows := range map[string][]ruletest.Row{"annotations": annotationPlaceRows, "lists of annotations": annotationListRows[:7]} {
		t.Run(name, func(t *testing.T) {
			faulty, fail := newFaulty()
			w := ruletest.New(t, faulty)
			w.RunFaulty(t, annotationCalls(t, w), rows, memstore.ErrDisk, fail)
		})
	}
	for name, rows := range map[string][]ruletest.Row{"actions": rows(actionFieldRows[:1], actionFieldRows[len(actionFieldRows)-8:]), "lists of actions": actionListRows} {
		t.Run(name, func(t *testing.T) {
			faulty, fail := newFaulty()
			w := ruletest.New(t, faulty)
			w.RunFaulty(t, actionCalls(t, w), rows, memstore.ErrDisk, fail)
		})
	}
}

// If any call of the store fails while an alert is checked, the check is repeated, and there is one
// result and one mail in the end. The mail is a record of the same transaction, as in the server.
func TestFaults_AlertChecks(t *testing.T) {
	const kindMail = "test_mail"
	for after := 0; ; after++ {
		faulty, fail := newFaulty()
		w := newChecked(t, faulty, func(context.Context, *management.ProjectRecord, json.RawMessage) (json.RawMessage, error) {
			return value("11"), nil
		})
		w.Dashboards.Alerts.Config.Notify = func(tx management.Tx, n notices.Notice) (bool, error) {
			id, err := tx.Next(kindMail)
			if err != nil {
				return false, err
			}
			return true, tx.Put(&management.Record{Kind: kindMail, ID: string(storage.Encode(id)), Data: storage.Encode(n)})
		}
		fail(after)
		_, err := w.Dashboards.Alerts.CheckDue(t.Context())
		failed := fail(-1)
		if failed && !errors.Is(err, memstore.ErrDisk) || !failed && err != nil {
			t.Errorf("call %d fails, failed: %v: %v", after, failed, err)
		}
		// Five minutes later the lease of an unfinished check is over.
		for range 2 {
			w.Clock = w.Clock.Add(5 * time.Minute)
			w.check(t)
		}
		w.found(t, "one check", `{"state":"Firing","last_value":11,"next_check_at":"2026-01-06T01:00:00Z","checks":[{"state":"Firing","targets_notified":true}]}`)
		err = w.Store.Read(t.Context(), func(tx rooms.Tx) error {
			_, mails, err := tx.List(management.Query{Kind: kindMail})
			if mails != 1 {
				t.Errorf("call %d failed: %d mails", after, mails)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if !failed {
			if after < 10 { // a check needs more calls than that
				t.Errorf("only %d calls", after)
			}
			return
		}
	}
}
