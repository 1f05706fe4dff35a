package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/backups"
)

// backupSettings are the settings of backups at intervals.
var backupSettings = []setting{
	{"backup", text, "DIR|s3://BUCKET/PREFIX", []string{""}, "where a checked backup of the data folder is written at intervals; s3:// takes ?endpoint=URL&region=NAME, and credentials from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or the machine's role",
		func(c *Config, v []string) error {
			if c.Backup = v[0]; v[0] == "" {
				return nil
			}
			return backups.CheckAddress(v[0])
		}},
	{"backup-interval", text, "DURATION", []string{"1h"}, "time between two backups; 1m or more",
		durationIn(func(c *Config) *time.Duration { return &c.BackupInterval }, time.Minute, 366*24*time.Hour, "from 1m to 8784h such as 1h")},
	{"backup-keep", text, "DURATION", []string{"7d"}, "how long a backup is kept, such as 12h or 7d; the newest good one is always kept",
		func(c *Config, v []string) (err error) {
			if c.BackupKeep, err = parseDays(v[0]); err != nil || c.BackupKeep < time.Minute || c.BackupKeep > 3660*24*time.Hour {
				return fmt.Errorf("must be a duration from 1m to 3660d such as 12h or 7d, not %q", v[0])
			}
			return nil
		}},
	{"backup-key", text, "FILE", []string{""}, "file with keys of age that encrypt the backups; bunting backup --new-key FILE writes one",
		func(c *Config, v []string) error { c.BackupKey = v[0]; return nil }},
}

// parseDays parses a duration, which may be a number of days such as 7d.
func parseDays(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}
