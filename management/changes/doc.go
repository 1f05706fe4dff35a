// Package changes manages changes of flags that wait: scheduled changes for their time
// (spec/management.md §5.1.3), and change requests for the approval of other users (spec/console.md
// N12).
//
// New returns a Service with both. Each change is applied to the flag in memory when it is filed, so
// that one that cannot be applied is refused, and again when it is due or approved. RunDue makes the
// scheduled changes; the server must call it regularly.
package changes
