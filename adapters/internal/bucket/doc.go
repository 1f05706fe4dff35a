// Package bucket reads and writes objects in a bucket of S3, or of another service with its protocol:
// backups and segment files.
//
// Every operation ends: connecting, each read and each write have a timeout, and a request has a
// bounded number of attempts. Errors include advice, and never contain credentials.
package bucket
