// Package notices has the messages that packages of management ask package organizations to send: a
// mail to users of a project, or a request to an address that a user has chosen.
package notices
