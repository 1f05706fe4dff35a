// Package definitions has what the packages share that read and write the definitions of a project,
// its flags and cohorts: the way to store one within the limits of the project (Put), the scopes of
// background jobs and of other projects, records with numbers, and values of decoded JSON.
package definitions
