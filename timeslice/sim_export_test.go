package timeslice

// JobsBefore lists the jobs of arrivals that come before a time.
func JobsBefore(a Arrivals, seed, stream uint64, before int64) []Job {
	var jobs []Job
	next := a.jobs(seed, stream)
	for job, ok := next(); ok && job.At < before; job, ok = next() {
		jobs = append(jobs, job)
	}
	return jobs
}

// HistogramOf counts values.
func HistogramOf(values []int64) Histogram {
	var h Histogram
	for _, v := range values {
		h.add(v)
	}
	return h
}
