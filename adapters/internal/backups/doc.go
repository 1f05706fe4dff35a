// Package backups writes backups of a SQLite database to a folder or to a bucket of S3 at
// intervals, and reads them.
//
// A backup is an object with the database, and a second object with the same name and
// the suffix .json, its description. The description is written after the backup was
// read back and compared with the checksums: a backup without a description is
// incomplete, and is neither restored nor counted. Only objects with names of this
// package, of the same data folder, are ever deleted.
package backups
