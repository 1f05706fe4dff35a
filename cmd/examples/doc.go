// Package examples stands above programs to begin with: README.md says what each shows.
package examples
