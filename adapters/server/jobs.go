package server

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/adapters/metrics"
	"github.com/bunting-flags/bunting/management"
)

// The jobs of a server, as its metrics and its log name them.
const (
	jobSchedules = "schedules" // changes of flags and iterations of surveys whose time has come
	jobExports   = "exports"   // runs of batch exports
	jobDeletions = "deletions" // passes over old events
	jobMails     = "mails"
	jobIssues    = "issues"   // looks at captured exceptions
	jobAlerts    = "alerts"   // looks at alerts that are due
	jobRollouts  = "rollouts" // looks at guarded rollouts that are due
)

var jobNames = []string{jobSchedules, jobExports, jobDeletions, jobMails, jobIssues, jobAlerts, jobRollouts}

// jobs counts and logs what becomes of the work that nobody waits for. It is safe
// for several goroutines.
type jobs struct {
	log *slog.Logger

	mu   sync.Mutex
	done map[string]*metrics.Job
}

func newJobs(log *slog.Logger) *jobs {
	j := &jobs{log: log, done: make(map[string]*metrics.Job, len(jobNames))}
	for _, name := range jobNames {
		j.done[name] = &metrics.Job{Name: name}
	}
	return j
}

// count counts a piece of work that is over, and how it ended.
func (j *jobs) count(name string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.done[name].Failed++
		return
	}
	j.done[name].Done++
	j.done[name].LastDone = time.Now()
}

// metrics are the counts, in the order of jobNames.
func (j *jobs) metrics() []metrics.Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := make([]metrics.Job, len(jobNames))
	for i, name := range jobNames {
		out[i] = *j.done[name]
	}
	return out
}

// countManaged takes what management tells.
func (j *jobs) countManaged(d management.JobDone) {
	attrs := []any{"project", d.Project, "id", d.ID}
	name, what := jobSchedules, "scheduled change"
	switch d.Job {
	case management.JobBatchExport:
		name, what = jobExports, "batch export"
		attrs = append(attrs, "export", d.Export, "name", d.ExportName, "status", d.Status, "rows", d.Rows)
	case management.JobSurvey:
		what = "next iteration of a survey"
	case management.JobMail:
		name, what, attrs = jobMails, "mail", []any{"invitation", d.ID}
	}
	if d.Failure == "" {
		j.count(name, nil)
		j.log.Info(what+" done", attrs...)
		return
	}
	j.count(name, errors.New(d.Failure))
	j.log.Warn(what+" failed", append(attrs, "again", d.Again, "error", d.Failure)...)
}

// countDeletions takes the result of a pass over old events.
func (j *jobs) countDeletions(events int64, before time.Time) {
	j.count(jobDeletions, nil)
	if events > 0 {
		j.log.Info("old events deleted", "events", events, "before", before.UTC().Format(time.RFC3339))
	}
}
