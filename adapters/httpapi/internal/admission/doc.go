// Package admission limits how much of the server its clients may use: memory for bodies, time for
// sending them, and requests.
//
// A [Budget] is the memory of all bodies together: budget.go describes how it is divided, and
// lines.go has the queues of the bodies that wait. Each request has a [Lease], which reads the body
// (read.go, paced.go) and reserves memory as bytes arrive. [Limiters] are the rates of requests for
// flags by token and address (rates.go). [Management] counts requests to the management API, failed
// authentication and guesses, in windows of a minute and an hour (windows.go).
package admission
