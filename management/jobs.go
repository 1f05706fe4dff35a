package management

// The kinds of background jobs.
const (
	JobScheduledChange = "scheduled_change"
	JobBatchExport     = "batch_export"
	JobMail            = "mail"    // only mails that will not be sent; the outbox reports the sent mails
	JobSurvey          = "survey"  // a recurring survey starts its next iteration
	JobWebhook         = "webhook" // only webhooks that will not be sent; the outbox reports the others
)

// JobDone reports the result of one piece of a job, after the result is durable.
type JobDone struct {
	// Job is one of the constants above.
	Job string
	// Project is the project of the piece of work. ID is the id of the scheduled change, of the
	// run, of the survey, or of the accepted invitation.
	Project int64
	ID      string
	// Export and ExportName are the id and the name of the batch export of a run.
	Export, ExportName string
	// Status is the status of the run, such as Completed; empty for other jobs.
	Status string
	// Rows is the number of exported rows.
	Rows int64
	// Failure is the reason of a failure, empty on success. It contains no secrets.
	Failure string
	// Again reports whether the work will be retried.
	Again bool
}

// ReportTo calls report with d. It does nothing if d or report is nil.
func (d *JobDone) ReportTo(report func(JobDone)) {
	if d != nil && report != nil {
		report(*d)
	}
}
