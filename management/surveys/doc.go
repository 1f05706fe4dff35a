// Package surveys manages surveys (spec/management.md §5.6). SDKs show a survey to persons for whom the
// flags of the survey are on; a survey creates such flags and switches them.
//
// New returns a Service with the operations of the API. rules checks a survey with its questions and
// conditions and changes its flags, in one transaction. Public lists the surveys for SDKs, and
// Statistics is the query for the responses. StartDueIterations begins the next iterations of
// recurring surveys; the server must call it regularly.
package surveys
