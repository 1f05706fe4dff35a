package batchexports

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/plain"
)

// The types of destinations (decision 23).
const (
	destinationS3       = "S3"
	destinationPostgres = "Postgres"
	destinationHTTP     = "HTTP"
	destinationFiles    = "Files"
)

// destinationSetting is a setting of a type of destination. kind is its JSON type in the terms of
// Python, which messages use: str, int, bool or list.
type destinationSetting struct {
	name, kind       string
	required, secret bool
	// requiredForTest reports that a test needs the setting.
	requiredForTest bool
	// isAddress reports that the setting determines where secrets are sent, or how safely. It can
	// only be changed together with the secrets. Otherwise a user who may change an export could
	// have them sent to another host.
	isAddress bool
}

// The values of sslmode for destinations of type Postgres. The default is sslRequire.
const (
	sslRequire = "require"
	SSLPrefer  = "prefer"
	SSLDisable = "disable"
)

// destinationKeys are the settings by type (§4.3.2). All types also have those of
// commonDestinationKeys. The type Files is specific to this program: path is a folder below
// exports/ in the data folder, prefix the beginning of the names of the files.
var destinationKeys = map[string][]destinationSetting{
	destinationS3: {
		{name: "bucket_name", kind: "str", required: true, requiredForTest: true, isAddress: true},
		{name: "region", kind: "str", required: true, isAddress: true},
		{name: "prefix", kind: "str", required: true},
		{name: "aws_access_key_id", kind: "str", secret: true, requiredForTest: true},
		{name: "aws_secret_access_key", kind: "str", secret: true, requiredForTest: true},
		{name: "compression", kind: "str"},
		{name: "encryption", kind: "str"},
		{name: "kms_key_id", kind: "str"},
		{name: "endpoint_url", kind: "str", isAddress: true},
		{name: "file_format", kind: "str"},
		{name: "max_file_size_mb", kind: "int"},
		{name: "use_virtual_style_addressing", kind: "bool"},
	},
	destinationPostgres: {
		{name: "user", kind: "str", required: true, secret: true, requiredForTest: true},
		{name: "password", kind: "str", required: true, secret: true, requiredForTest: true},
		{name: "host", kind: "str", required: true, requiredForTest: true, isAddress: true},
		{name: "database", kind: "str", required: true, requiredForTest: true},
		{name: "schema", kind: "str"},
		{name: "table_name", kind: "str"},
		{name: "port", kind: "int", isAddress: true},
		{name: "has_self_signed_cert", kind: "bool", isAddress: true},
		{name: "sslmode", kind: "str", isAddress: true},
	},
	destinationHTTP: {
		{name: "url", kind: "str", required: true, requiredForTest: true, isAddress: true},
		{name: "token", kind: "str", required: true, secret: true, requiredForTest: true},
	},
	destinationFiles: {
		{name: "path", kind: "str", required: true},
		{name: "prefix", kind: "str"},
		{name: "compression", kind: "str"},
		{name: "file_format", kind: "str"},
		{name: "max_file_size_mb", kind: "int"},
	},
}

// commonDestinationKeys select events by their names.
var commonDestinationKeys = []destinationSetting{
	{name: "include_events", kind: "list"},
	{name: "exclude_events", kind: "list"},
}

// destinationTypes are the types, in the order of the documentation.
var destinationTypes = []string{destinationS3, destinationPostgres, destinationHTTP, destinationFiles}

// fileCompressions are the compressions for each file format of S3 and Files.
var fileCompressions = map[string][]string{
	"JSONLines": {"gzip", "brotli"},
	"Parquet":   {"zstd", "lz4", "snappy", "gzip", "brotli"},
}

// destinationFault returns an error about the settings of a destination. Its Field is destination.
func destinationFault(format string, args ...any) error {
	return management.Fault("destination", format, args...)
}

// readDestination reads and validates a destination. stored is the destination that is changed, or
// nil for a new one. Its settings remain unless the body replaces them.
func readDestination(raw json.RawMessage, stored *ExportDestination) (*ExportDestination, error) {
	var members map[string]json.RawMessage
	if management.JSONKind(raw) != "dict" || json.Unmarshal(raw, &members) != nil {
		return nil, destinationFault("Invalid data. Expected a dictionary, but got %s.", management.JSONKind(raw))
	}
	out := &ExportDestination{Config: map[string]json.RawMessage{}}
	kind := &management.Field{Name: "destination__type", Type: management.Choice, Choices: destinationTypes, Required: true}
	if text, ok := members["type"]; ok {
		v, err := kind.Read(text)
		if err != nil {
			return nil, err
		}
		out.Type = v.(string)
	} else if stored == nil {
		return nil, management.CodedFault(management.CodeRequired, kind.Name, "This field is required.")
	}
	if stored != nil {
		if out.Type != "" && out.Type != stored.Type {
			return nil, destinationFault("Cannot change destination type from '%s' to '%s'. Make a new batch export instead.", stored.Type, out.Type)
		}
		out.Type = stored.Type
		maps.Copy(out.Config, stored.Config)
	}
	for _, name := range []string{"integration", "integration_id"} {
		if text, ok := members[name]; ok && management.JSONKind(text) != "NoneType" {
			return nil, management.CodedFault(management.CodeDoesNotExist, "destination__"+name, "Invalid pk %q - object does not exist.", strings.Trim(string(text), `"`))
		}
	}
	config, ok := members["config"]
	if !ok && stored == nil {
		return nil, management.CodedFault(management.CodeRequired, "destination__config", "This field is required.")
	}
	var sent map[string]json.RawMessage
	if ok {
		if management.JSONKind(config) != "dict" || json.Unmarshal(config, &sent) != nil {
			return nil, management.CodedFault(management.CodeNotADict, "destination__config", "Expected a dictionary of items but got type %q.", management.JSONKind(config))
		}
		maps.Copy(out.Config, sent)
	}
	if err := out.check(); err != nil || stored == nil {
		return out, err
	}
	return out, out.checkSecretsResent(stored, sent)
}

// checkSecretsResent returns an error if an address is changed while the body lacks a stored
// secret, because that secret would be sent to another place.
func (d *ExportDestination) checkSecretsResent(stored *ExportDestination, sent map[string]json.RawMessage) error {
	var changed, missing []string
	for _, k := range d.keys() {
		_, resent := sent[k.name]
		switch {
		case k.isAddress && d.valueOf(k) != stored.valueOf(k):
			changed = append(changed, "'"+k.name+"'")
		case k.secret && stored.text(k.name) != "" && !resent:
			missing = append(missing, "'"+k.name+"'")
		}
	}
	if len(changed) == 0 || len(missing) == 0 {
		return nil
	}
	return destinationFault("Changing %s requires %s again: stored secrets are not sent to another destination.", strings.Join(changed, ", "), strings.Join(missing, ", "))
}

// keyDefaults are the default values of settings with isAddress.
var keyDefaults = map[string]string{"port": "5432", "has_self_signed_cert": "false", "sslmode": sslRequire}

// valueOf returns a setting for comparisons. Absent, null and empty settings have their default
// value.
func (d *ExportDestination) valueOf(k destinationSetting) string {
	text := string(d.Config[k.name])
	if k.kind == "str" {
		text = d.text(k.name)
	}
	if text == "" || text == "null" && k.kind != "str" {
		return keyDefaults[k.name]
	}
	return text
}

// keys returns the settings of the destination's type.
func (d *ExportDestination) keys() []destinationSetting {
	return slices.Concat(destinationKeys[d.Type], commonDestinationKeys)
}

// check validates all settings, and converts strings with a number or a boolean.
func (d *ExportDestination) check() error {
	keys := d.keys()
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(d.Config)) {
		if !slices.ContainsFunc(keys, func(k destinationSetting) bool { return k.name == name }) {
			unknown = append(unknown, "'"+name+"'")
		}
	}
	if len(unknown) > 0 {
		return destinationFault("Configuration has unknown field/s: %s", strings.Join(unknown, ", "))
	}
	for _, k := range keys {
		raw, present := d.Config[k.name]
		if !present && k.required {
			return destinationFault("Configuration missing required field: '%s'", k.name)
		}
		if !present || management.JSONKind(raw) == "NoneType" && !k.required {
			continue
		}
		value, err := k.read(raw)
		if err != nil {
			return err
		}
		d.Config[k.name] = value
	}
	return d.checkType()
}

// read validates the type of a setting and returns its value.
func (k destinationSetting) read(raw json.RawMessage) (json.RawMessage, error) {
	kind := management.JSONKind(raw)
	if kind == "str" && k.kind != "str" {
		var text string
		_ = json.Unmarshal(raw, &text) // valid, since it is a part of parsed JSON
		text = strings.ToLower(strings.TrimSpace(text))
		if _, err := strconv.ParseInt(text, 10, 64); k.kind == "int" && err == nil || k.kind == "bool" && (text == "true" || text == "false") {
			return json.RawMessage(text), nil
		}
	}
	if kind != k.kind {
		return nil, destinationFault("Configuration has invalid type: got '%s', expected '%s'", kind, k.kind)
	}
	if kind == "list" {
		if _, err := management.ReadTextList(&management.Field{Name: "destination", MaxLength: 400}, raw, kind); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// text returns a string setting, or "" if it is absent.
func (d *ExportDestination) text(name string) string {
	var text string
	_ = json.Unmarshal(d.Config[name], &text) // another type counts as absent
	return text
}

// int returns an integer setting, or fallback if it is absent.
func (d *ExportDestination) int(name string, fallback int64) int64 {
	n, ok := plain.Integer(d.Config[name], management.JSONKind(d.Config[name]))
	if !ok {
		return fallback
	}
	return n
}

// texts returns a list setting, or nil if it is absent.
func (d *ExportDestination) texts(name string) []string {
	var list []string
	_ = json.Unmarshal(d.Config[name], &list) // another type counts as absent
	return list
}

// checkType validates the settings of a type that depend on each other.
func (d *ExportDestination) checkType() error {
	switch d.Type {
	case destinationS3:
		if err := d.checkFiles(); err != nil {
			return err
		}
		switch encryption := d.text("encryption"); encryption {
		case "", "AES256":
		case "aws:kms":
			if d.text("kms_key_id") == "" {
				return destinationFault("Configuration missing required field: 'kms_key_id'")
			}
		default:
			return destinationFault("Encryption %s is not supported. Supported are AES256, aws:kms.", encryption)
		}
		return checkAddress("endpoint_url", d.text("endpoint_url"), true)
	case destinationFiles:
		path, prefix := d.text("path"), d.text("prefix")
		for _, text := range []string{path, prefix} {
			if strings.HasPrefix(text, "/") || strings.ContainsAny(text, "\\\x00") || slices.Contains(strings.Split(text, "/"), "..") {
				return destinationFault("'path' and 'prefix' must be relative to the server's export folder: without '..', backslashes or a leading slash.")
			}
		}
		return d.checkFiles()
	case destinationPostgres:
		if port := d.int("port", 5432); port < 1 || port > 65535 {
			return destinationFault("'port' must be a number from 1 to 65535.")
		}
		if mode := d.text("sslmode"); mode != "" && !slices.Contains([]string{sslRequire, SSLPrefer, SSLDisable}, mode) {
			return destinationFault("'sslmode' %s is not supported. Supported are %s, %s, %s.", mode, sslRequire, SSLPrefer, SSLDisable)
		}
	case destinationHTTP:
		return checkAddress("url", d.text("url"), false)
	}
	return nil
}

// checkAddress validates the URL of a setting. If optional is true, it may be empty.
func checkAddress(name, text string, optional bool) error {
	if text == "" && optional {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return destinationFault("'%s': Enter a valid URL.", name)
	}
	return nil
}

// checkFiles validates the settings of destinations that write files.
func (d *ExportDestination) checkFiles() error {
	format := d.text("file_format")
	if format == "" {
		format = "JSONLines"
	}
	allowed, ok := fileCompressions[format]
	if !ok {
		return destinationFault("File format %s is not supported. Supported are JSONLines, Parquet.", format)
	}
	if c := d.text("compression"); c != "" && !slices.Contains(allowed, c) {
		return destinationFault("Compression %s is not supported for file format %s. Supported are %s.", c, format, strings.Join(allowed, ", "))
	}
	if d.int("max_file_size_mb", 1) < 1 {
		return destinationFault("'max_file_size_mb' must be a number greater than 0.")
	}
	return nil
}

// view returns the destination without its secrets.
func (d *ExportDestination) view() ExportDestination {
	out := ExportDestination{Type: d.Type, Config: maps.Clone(d.Config)}
	for _, k := range d.keys() {
		if k.secret {
			delete(out.Config, k.name)
		}
	}
	return out
}

// hasSecretsOf reports whether two destinations of one type have the same secrets.
func (d *ExportDestination) hasSecretsOf(other *ExportDestination) bool {
	return !slices.ContainsFunc(d.keys(), func(k destinationSetting) bool { return k.secret && d.text(k.name) != other.text(k.name) })
}

// configured reports whether all settings that a test needs are set.
func (d *ExportDestination) configured() bool {
	return !slices.ContainsFunc(d.keys(), func(k destinationSetting) bool { return k.requiredForTest && d.text(k.name) == "" })
}

// redact replaces the secrets in a message. Secrets of less than four bytes remain, since they
// could be parts of ordinary words.
func (d *ExportDestination) redact(text string) string {
	for _, k := range d.keys() {
		if secret := d.text(k.name); k.secret && len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, "***")
			text = strings.ReplaceAll(text, url.QueryEscape(secret), "***")
		}
	}
	return text
}
