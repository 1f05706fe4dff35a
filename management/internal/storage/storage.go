// Package storage has what records in the store are made of: the kinds that several packages use, the
// strings that determine their order, and the JSON of their values.
package storage

import (
	"encoding/json"
	"fmt"
	"time"
)

// The kinds of records that several packages read or write.
const (
	KindUser       = "user"        // ID is the uuid, Sort the number, Unique the e-mail address (management.EmailKey)
	KindMember     = "member"      // Parent is the organization, ID and Other are the user's uuid
	KindRole       = "role"        // Parent is the organization
	KindRoleMember = "role_member" // Parent is the role, Other the uuid of the user
	KindActivity   = "activity"    // a line of the activity log; Parent is the project or the organization
)

// Encode returns the JSON form of a value for a record. It panics if v has no JSON form.
func Encode(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// SortNumber returns a number, which must not be negative, for Record.Sort: the byte order of the
// strings is that of the numbers.
func SortNumber(n int64) string { return fmt.Sprintf("%020d", n) }

// SortTime returns a time for Record.Sort: the byte order of the strings is that of the times.
func SortTime(when time.Time) string { return SortNumber(when.UnixMicro()) }

// UnreadableError is the error for a stored object that cannot be decoded, because it is damaged or
// a newer version of the program has written it. Work on other objects is not affected.
type UnreadableError struct {
	// What names the object, such as "flag 7".
	What string
	Err  error
}

func (e *UnreadableError) Error() string {
	return "the stored " + e.What + " is invalid: " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *UnreadableError) Unwrap() error { return e.Err }
