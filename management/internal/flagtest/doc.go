// Package flagtest has what the tests of the packages with flags share: a World with persons and
// groups, the calls of their services, and parts of requests.
package flagtest
