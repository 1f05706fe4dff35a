package management

// The jobs that nobody waits for.
const (
	JobScheduledChange = "scheduled_change"
	JobBatchExport     = "batch_export"
	JobMail            = "mail"   // one that will not be sent; those that are: DeliverMail
	JobSurvey          = "survey" // a survey that is repeated begins again
)

// JobDone tells what became of one piece of a job, once that is durable.
type JobDone struct {
	// Job is one of the constants above.
	Job string
	// Project is whose it was, ID the scheduled change, the run, the survey, or the
	// invitation that was accepted.
	Project int64
	ID      string
	// Export and ExportName are the id and the name of the batch export of a run.
	Export, ExportName string
	// Status is that of the run, such as Completed; empty for a change.
	Status string
	// Rows were exported.
	Rows int64
	// Failure is why it failed, empty where it did not. It has no secrets.
	Failure string
	// Again: it will be tried again.
	Again bool
}

// ReportTo tells somebody, who may be nil; of nothing when d is nil.
func (d *JobDone) ReportTo(report func(JobDone)) {
	if d != nil && report != nil {
		report(*d)
	}
}
