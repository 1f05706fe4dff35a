// Package earlyaccess manages early access features (spec/management.md §5.5). Each feature has a flag,
// to which it adds a condition that is on for the persons who enroll themselves.
//
// New returns a Service with the operations of the API. A change of a feature changes its flag in the
// same transaction, through storedflags. Public lists the features for SDKs.
package earlyaccess
