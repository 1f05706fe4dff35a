package exports

import (
	"encoding/json"
	"errors"
	"net/url"
	"path"
	"strings"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// settings decodes a destination's configuration. Missing and null members keep their defaults.
func settings(d batchexports.ExportDestination, into any) error {
	text, err := json.Marshal(d.Config)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		name := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]
		return rejectf("Configuration has an invalid type: %q.", name) // without the value, which may be a secret
	case err != nil:
		return rejectf("Configuration cannot be read.")
	}
	return nil
}

// requireSettings returns an error if a setting is empty. It expects pairs of names and values.
func requireSettings(pairs []string) error {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			return rejectf("Configuration missing required field: '%s'", pairs[i])
		}
	}
	return nil
}

// maxPrefix is the maximum length of a prefix, in bytes. Keys of S3 may have 1024.
const maxPrefix = 800

// joinPrefix joins a folder and a prefix of file names in it to a clean path: without dots, double
// slashes and a slash at the beginning.
func joinPrefix(folder, prefix string) (string, error) {
	text := folder + "/" + prefix
	if len(text) > maxPrefix {
		return "", rejectf("The prefix may have at most %d bytes.", maxPrefix)
	}
	if strings.ContainsAny(text, "\\\x00") {
		return "", rejectf("The prefix must not contain backslashes or NUL.")
	}
	for name := range strings.SplitSeq(text, "/") {
		if name == ".." {
			return "", rejectf("The prefix must not contain .. as a folder.")
		}
	}
	clean := strings.TrimPrefix(path.Clean("/"+text), "/")
	if clean != "" && strings.HasSuffix(text, "/") {
		clean += "/"
	}
	return clean, nil
}

// parseURL parses the address of an HTTP server.
func parseURL(name, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, rejectf("%s is not an http or https URL.", name)
	}
	return u, nil
}
