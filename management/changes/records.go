package changes

import (
	"encoding/json"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// kindChangeRequest is the kind of the records of change requests. Parent is the project, Other
// the key that lists open requests (waitingKey), and Sort the id.
const kindChangeRequest = "change_request"

// ChangeRequest is a proposed change of a flag that other users have to approve (spec/console.md
// N12).
type ChangeRequest struct {
	ID      int64  `json:"id"`
	Flag    int64  `json:"flag"`
	FlagKey string `json:"flag_key"` // empty if the flag is deleted
	// BaseVersion is the version of the flag that the change was based on.
	BaseVersion int64 `json:"base_version"`
	// Patch is the body of a PATCH request for the flag.
	Patch json.RawMessage `json:"patch"`
	Title string          `json:"title"`
	Note  string          `json:"note"`
	// Author and Editors are e-mail addresses. Author is null if the user has been deleted.
	Author  *string  `json:"author"`
	Editors []string `json:"editors"`
	State   string   `json:"state"` // open, approved, applied, rejected, withdrawn
	// Revision starts at 1 and increases by one with each edit.
	Revision int64         `json:"revision"`
	Votes    []requestVote `json:"votes"` // on the current revision, oldest first
	// Needed is the number of approvals that the project requires now.
	Needed    int64            `json:"needed"`
	CreatedAt management.Stamp `json:"created_at"`
	UpdatedAt management.Stamp `json:"updated_at"`
}

// requestVote is the vote of one user on a request.
type requestVote struct {
	User     *string          `json:"user"` // e-mail address, null if the user has been deleted
	Vote     string           `json:"vote"` // approve or reject
	Revision int64            `json:"revision"`
	At       management.Stamp `json:"at"`
}

// storedRequest is the stored form of a ChangeRequest. Users are referenced by id.
type storedRequest struct {
	ID        int64            `json:"id"`
	Project   int64            `json:"team_id"`
	Flag      int64            `json:"flag"`
	Base      int64            `json:"base_version"`
	Patch     json.RawMessage  `json:"patch"`
	Title     string           `json:"title"`
	Note      string           `json:"note"`
	Author    int64            `json:"author"`
	Editors   []int64          `json:"editors"`
	State     string           `json:"state"`
	Revision  int64            `json:"revision"`
	Votes     []storedVote     `json:"votes"`
	CreatedAt management.Stamp `json:"created_at"`
	UpdatedAt management.Stamp `json:"updated_at"`
}

// storedVote is the stored form of a requestVote.
type storedVote struct {
	User int64            `json:"user"`
	Vote string           `json:"vote"`
	At   management.Stamp `json:"at"`
}

const voteApprove, voteReject = "approve", "reject"

// RequestEdits are the fields of a request that can be edited.
var RequestEdits = management.Fields{
	{Name: "patch", Type: management.Object, Required: true, Help: "body of a PATCH of the flag: only the fields that change"},
	{Name: "base_version", Type: management.Int, Custom: true, Help: "version of the flag that the patch is based on; the current version by default, if there is a patch"},
	{Name: "title", Type: management.Text, Blank: true, MaxLength: 200},
	{Name: "note", Type: management.Text, Blank: true, MaxLength: storedflags.MaxNote, Help: "reason for the change, stored with the version and in the activity log"},
}

// requestFields are the fields of a new request.
var requestFields = append(management.Fields{{Name: "flag", Type: management.Int, Required: true, Help: "id of the flag"}}, RequestEdits...)

// voteFields are the fields of an approval or a rejection.
var voteFields = management.Fields{{Name: "revision", Type: management.Int, Required: true, Help: "the revision that was reviewed"}}

// kindScheduled is the kind of the records of scheduled changes: Parent is the project, Sort the
// time of the next execution, and Other is pendingChanges until the change has been executed for
// the last time.
const kindScheduled = "scheduled_change"

// pendingChanges is the value of Other by which RunDue finds changes of all projects.
const pendingChanges = "pending"

// ScheduledChange is a change of a flag at a later time, as the API returns it (§5.1.3).
type ScheduledChange struct {
	// ID is the number of the change, and Team the project.
	ID   int64 `json:"id"`
	Team int64 `json:"team_id"`
	// RecordID is the flag's id, and ModelName always FeatureFlag.
	RecordID  string `json:"record_id"`
	ModelName string `json:"model_name"`
	// Payload is a scheduledPayload.
	Payload json.RawMessage `json:"payload"`
	// ScheduledAt is the time of the next execution.
	ScheduledAt management.Stamp `json:"scheduled_at"`
	// ExecutedAt is the time of the last execution, or of the failure; null while the change is
	// pending.
	ExecutedAt management.Stamp `json:"executed_at"`
	// FailureReason is a sentence for people; null if the change has not failed.
	FailureReason *string `json:"failure_reason"`
	Recurring     bool    `json:"is_recurring"`
	// Interval is a key of recurrences, and EndDate the end of the recurrence, which is optional.
	Interval *string          `json:"recurrence_interval"`
	EndDate  management.Stamp `json:"end_date"`
	// Note is the reason for the change, for the version and the log.
	Note string `json:"change_note"`
	// LastExecutedAt is the time of the last execution that succeeded.
	LastExecutedAt management.Stamp `json:"last_executed_at"`
	// CreatedBy is the user in whose name the change is executed.
	CreatedBy *management.UserView `json:"created_by"`
	CreatedAt management.Stamp     `json:"created_at"`
	UpdatedAt management.Stamp     `json:"updated_at"`
}

// storedChange is a scheduled change as stored. Creator is the id of a user. Begin is the first
// scheduled time, from which the times of a recurring change are computed.
type storedChange struct {
	ScheduledChange
	Creator int64            `json:"creator"`
	Begin   management.Stamp `json:"begin"`
	// Condition is the condition that update_rollout changes, without its percentage, in the state
	// when the change was scheduled; nil for other operations.
	Condition json.RawMessage `json:"condition,omitempty"`
}

// recurrences are the intervals of recurring changes.
var recurrences = map[string]struct{ months, days int }{
	"daily": {0, 1}, "weekly": {0, 7}, "monthly": {1, 0}, "yearly": {12, 0},
}

// scheduledFields are the writable fields of a scheduled change.
var scheduledFields = management.Fields{
	{Name: "record_id", Type: management.Int, Required: true, Custom: true, Help: "id of the flag"},
	{Name: "model_name", Type: management.Choice, Required: true, Choices: []string{"FeatureFlag"}},
	{Name: "payload", Type: management.Object, Required: true, Help: "object with operation (update_status, update_rollout, add_release_condition or update_variants) and value"},
	{Name: "scheduled_at", Type: management.Time, Required: true},
	{Name: "is_recurring", Type: management.Bool},
	{Name: "recurrence_interval", Type: management.Choice, Null: true, Choices: []string{"daily", "weekly", "monthly", "yearly"}},
	{Name: "end_date", Type: management.Time, Null: true, Help: "the change does not recur after this time"},
	{Name: "change_note", Type: management.Text, Blank: true, MaxLength: storedflags.MaxNote, Help: storedflags.NoteField.Help},
}
