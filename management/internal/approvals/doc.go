// Package approvals has the setting of a project that says which changes of flags others must
// approve first: its field, its form in requests and in the store, and its default.
package approvals
