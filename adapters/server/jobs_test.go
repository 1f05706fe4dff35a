package server

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// Results of background work: each is counted for its job and logged in one line.
func TestJobs(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	j := newJobs(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
	for _, c := range []struct {
		done management.JobDone
		want string
	}{
		{management.JobDone{Project: 1, ID: "a"}, `level=INFO msg="scheduled change done" project=1 id=a`},
		{management.JobDone{Project: 1, ID: "a", Failure: "gone", Again: true}, `level=WARN msg="scheduled change failed" project=1 id=a again=true error=gone`},
		{management.JobDone{Job: management.JobSurvey, Project: 2, ID: "b"}, `level=INFO msg="next iteration of a survey done" project=2 id=b`},
		{management.JobDone{Job: management.JobBatchExport, Project: 3, ID: "c", Export: "d", ExportName: "to S3", Status: "Completed", Rows: 9}, `level=INFO msg="batch export done" project=3 id=c export=d name="to S3" status=Completed rows=9`},
		{management.JobDone{Job: management.JobMail, Project: 4, ID: "e", Failure: "x"}, `level=WARN msg="mail failed" invitation=e again=false error=x`},
		{management.JobDone{Job: management.JobWebhook, Project: 5, ID: "f", Failure: "y"}, `level=WARN msg="webhook failed" project=5 id=f again=false error=y`},
	} {
		log.Reset()
		if j.countManaged(c.done); log.String() != c.want+"\n" {
			t.Errorf("%s, want %s", log.String(), c.want)
		}
	}
	log.Reset()
	j.countDeletions(0, time.Now())
	if log.Len() > 0 {
		t.Errorf("no event was deleted: %s", log.String())
	}
	j.countDeletions(5, time.Date(2026, 3, 1, 1, 0, 0, 0, time.FixedZone("", 7200)))
	if want := "level=INFO msg=\"old events deleted\" events=5 before=2026-02-28T23:00:00Z\n"; log.String() != want {
		t.Errorf("%s, want %s", log.String(), want)
	}
	j.count(jobAlerts, errors.New("x"))
	var got []string
	for _, m := range j.metrics() {
		if got = append(got, fmt.Sprint(m.Name, " ", m.Done, " ", m.Failed)); m.LastDone.IsZero() != (m.Done == 0) {
			t.Errorf("%+v", m)
		}
	}
	if want := "schedules 2 1, exports 1 0, deletions 2 0, mails 0 1, issues 0 0, alerts 0 1, rollouts 0 0, webhooks 0 1, backups 0 0, segments 0 0"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %s", got, want)
	}
}
