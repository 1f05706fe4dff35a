package exports

import (
	"slices"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// testName is the name of the file, table or event that tests of destinations write and remove.
const testName = "bunting_export_test"

var checkAddress = batchexports.TestStep{Name: "Check address", Description: "The server can be reached, and its address is one that exports may go to."}

// testSteps are the steps of tests (decision 23, §4.3.7). An event cannot be removed after it was
// sent, which is why HTTP has one step fewer.
var testSteps = map[string][]batchexports.TestStep{
	typeFiles: {
		{Name: "Check address", Description: "The prefix is a folder below the server's folder of exports."},
		{Name: "Check permissions", Description: "The folder can be made and read."},
		{Name: "Write a test file", Description: "A small file can be written to the folder."},
		{Name: "Remove the test file", Description: "The file can be removed."},
	},
	typeS3: {
		checkAddress,
		{Name: "Check S3 bucket exists", Description: "The bucket exists, and the credentials may use it."},
		{Name: "Write a test object", Description: "A small object can be written below the prefix."},
		{Name: "Remove the test object", Description: "The objects below the prefix can be listed, and the small one can be removed."},
	},
	typePostgres: {
		checkAddress,
		{Name: "Check credentials", Description: "The user may connect to the database, and the schema exists."},
		{Name: "Write a test table", Description: "A small table can be made in the schema and written to."},
		{Name: "Remove the test table", Description: "The table can be removed."},
	},
	typeHTTP: {
		checkAddress,
		{Name: "Check credentials", Description: "The server takes requests with this token. Nothing is written yet."},
		{Name: "Write a test event", Description: "The server takes an event, named " + testName + ". It stays there: HTTP has no way to remove it."},
	},
}

// Steps returns the steps of the test of a destination type, or nil for an unknown type.
func (r *Runner) Steps(destinationType string) []batchexports.TestStep {
	return slices.Clone(testSteps[destinationType])
}
