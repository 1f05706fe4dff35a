package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Job has the totals of one kind of background work.
type Job struct {
	Name string
	// Done and Failed count pieces of work, such as a run of an export.
	Done, Failed uint64
	// LastDone is when the last piece succeeded; zero means never.
	LastDone time.Time
}

// Latency has the responses of one route with one class of status; httpapi.Latency converts to it.
type Latency struct {
	Route, Class string
	Count        uint64
	Sum          time.Duration
	Within       map[float64]uint64
}

// Storage is the disk space of the store, in bytes. A negative value is unknown, and its metric is
// omitted.
type Storage struct {
	// Database is the size of the database, WAL that of its write-ahead log.
	Database, WAL int64
	// Segments is the size of the segment files, SegmentFiles their number.
	Segments, SegmentFiles int64
	// Unsealed is the number of events that are to be written into segment files.
	Unsealed int64
	// SegmentsFree is the free space on the disk of the segment files if that is another disk.
	SegmentsFree int64
	// Free is the free space on the disk of the data folder.
	Free int64
}

// Backups is the state of the backups.
type Backups struct {
	// Age is the age of the last good backup, or the time since the start without one;
	// Interval is the time between two backups.
	Age, Interval time.Duration
	// Bytes is the size of the last good backup.
	Bytes int64
}

var (
	latency            = prometheus.NewDesc("bunting_http_request_duration_seconds", "Duration of responses, by route and class of status, without streams.", []string{"route", "status"}, nil)
	jobResults         = prometheus.NewDesc("bunting_job_results_total", "Runs of background jobs, by job and result: scheduled changes of flags, exports, deletions, mails, webhooks, backups, segment files and grouping of captured exceptions.", []string{"job", "result"}, nil)
	jobSucceeded       = prometheus.NewDesc("bunting_job_last_success_timestamp_seconds", "When the job last succeeded.", []string{"job"}, nil)
	certificateExpires = prometheus.NewDesc("bunting_certificate_expires_timestamp_seconds", "When the certificate of HTTPS expires.", nil, nil)

	storageMetrics = []metric[Storage]{
		row(gauge, "storage_database_bytes", "Size of the database.", func(s *Storage) float64 { return float64(s.Database) }),
		row(gauge, "storage_wal_bytes", "Size of the write-ahead log of SQLite.", func(s *Storage) float64 { return float64(s.WAL) }),
		row(gauge, "storage_segments_bytes", "Size of the Parquet files with events, which are not in the database.", func(s *Storage) float64 { return float64(s.Segments) }),
		row(gauge, "storage_segment_files", "Number of the Parquet files with events.", func(s *Storage) float64 { return float64(s.SegmentFiles) }),
		row(gauge, "storage_segments_waiting_events", "Events in the database that are to be written into Parquet files, because there are enough of them.", func(s *Storage) float64 { return float64(s.Unsealed) }),
		row(gauge, "storage_segments_free_bytes", "Free space on the disk of the Parquet files with events, if it is not that of the data folder.", func(s *Storage) float64 { return float64(s.SegmentsFree) }),
		row(gauge, "storage_free_bytes", "Free space on the disk of the data folder.", func(s *Storage) float64 { return float64(s.Free) }),
	}
	backupMetrics = []metric[Backups]{
		row(gauge, "backup_age_seconds", "Age of the last good backup, or the time since the start without one.", func(b *Backups) float64 { return b.Age.Seconds() }),
		row(gauge, "backup_interval_seconds", "Time between two backups.", func(b *Backups) float64 { return b.Interval.Seconds() }),
		row(gauge, "backup_bytes", "Size of the last good backup.", func(b *Backups) float64 { return float64(b.Bytes) }),
	}
)

func (c *Config) describeServer(out chan<- *prometheus.Desc) {
	describe(out, storageMetrics, c.Storage != nil)
	describe(out, backupMetrics, c.Backups != nil)
	if c.CertificateExpires != nil {
		out <- certificateExpires
	}
	c.describeQueries(out)
	c.describeRollouts(out)
	if c.Latencies != nil {
		out <- latency
	}
	if c.Jobs != nil {
		out <- jobResults
		out <- jobSucceeded
	}
}

func (c *Config) collectServer(out chan<- prometheus.Metric) {
	c.collectQueries(out)
	c.collectRollouts(out)
	if c.Storage != nil {
		s := c.Storage()
		for i := range storageMetrics {
			if m := &storageMetrics[i]; m.value(&s) >= 0 {
				out <- number(m.desc, m.kind, m.value(&s))
			}
		}
	}
	if c.Backups != nil {
		b := c.Backups()
		for i := range backupMetrics {
			out <- number(backupMetrics[i].desc, backupMetrics[i].kind, backupMetrics[i].value(&b))
		}
	}
	if c.CertificateExpires != nil {
		if at := c.CertificateExpires(); !at.IsZero() {
			out <- number(certificateExpires, gauge, seconds(at))
		}
	}
	if c.Latencies != nil {
		for _, l := range c.Latencies() {
			out <- prometheus.MustNewConstHistogram(latency, l.Count, l.Sum.Seconds(), l.Within, l.Route, l.Class)
		}
	}
	if c.Jobs != nil {
		for _, j := range c.Jobs() {
			out <- number(jobResults, counter, float64(j.Done), j.Name, "done")
			out <- number(jobResults, counter, float64(j.Failed), j.Name, "failed")
			if !j.LastDone.IsZero() {
				out <- number(jobSucceeded, gauge, seconds(j.LastDone), j.Name)
			}
		}
	}
}
