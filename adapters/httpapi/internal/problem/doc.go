// Package problem has the errors of the HTTP API as clients receive them: a status, and {type,
// code, detail, attr} in JSON.
//
// A [Problem] is the error of one response. Handlers return problems of the tables in problem.go
// and access.go, or make their own with [Invalid], [Problem.With] and [Problem.Detailed]. They also
// return errors of other packages: [Of] converts those of flags, and [OfManagement] those of
// management and of stores. All other errors are internal, status 500. A [Body] is the error of a
// body that cannot be decoded.
//
// An error that only one package returns is in that package.
package problem
