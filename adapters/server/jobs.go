package server

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/metrics"
	"github.com/bunting-flags/bunting/management"
)

// The jobs of a server, by their names in its metrics and its log.
const (
	jobSchedules = "schedules" // due changes of flags and iterations of surveys
	jobExports   = "exports"   // runs of batch exports
	jobDeletions = "deletions" // deletions of old events
	jobMails     = "mails"
	jobIssues    = "issues"   // reads of captured exceptions
	jobAlerts    = "alerts"   // checks of due alerts
	jobRollouts  = "rollouts" // evaluations of due guarded rollouts
	jobWebhooks  = "webhooks"
	jobBackups   = "backups"
	jobSegments  = "segments" // writes of events into files
)

var jobNames = []string{jobSchedules, jobExports, jobDeletions, jobMails, jobIssues, jobAlerts, jobRollouts, jobWebhooks, jobBackups, jobSegments}

// jobs counts and logs the results of background work. It is safe for concurrent use.
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

// count counts a finished piece of work, as failed if err is not nil.
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

// metrics returns the counts, in the order of jobNames.
func (j *jobs) metrics() []metrics.Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := make([]metrics.Job, len(jobNames))
	for i, name := range jobNames {
		out[i] = *j.done[name]
	}
	return out
}

// countManaged counts and logs a result that package management reports.
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
	case management.JobWebhook:
		name, what = jobWebhooks, "webhook"
	}
	if d.Failure == "" {
		j.count(name, nil)
		j.log.Info(what+" done", attrs...)
		return
	}
	j.count(name, errors.New(d.Failure))
	j.log.Warn(what+" failed", append(attrs, "again", d.Again, "error", d.Failure)...)
}

// countDeletions counts and logs a successful deletion of old events.
func (j *jobs) countDeletions(events int64, before time.Time) {
	j.count(jobDeletions, nil)
	if events > 0 {
		j.log.Info("old events deleted", "events", events, "before", before.UTC().Format(time.RFC3339))
	}
}
