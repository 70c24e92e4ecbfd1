package main

// jobDetails is what a dashboard knows of a job.
type jobDetails struct {
	Type         string   `json:"type"`
	JobID        string   `json:"job_id"`
	SubmissionID string   `json:"submission_id"`
	Status       string   `json:"status"`
	Entrypoint   string   `json:"entrypoint"`
	Message      string   `json:"message"`
	StartTime    int      `json:"start_time"`
	EndTime      int      `json:"end_time"` // 0: has not ended
	Metadata     struct{} `json:"metadata"`
	RuntimeEnv   struct{} `json:"runtime_env"`
}

// newJobDetails gives fixed times: ones that move would make the operator write a new status after each question.
func newJobDetails(id, status string) jobDetails {
	job := jobDetails{
		Type:         "SUBMISSION",
		JobID:        "01000000",
		SubmissionID: id,
		Status:       status,
		Entrypoint:   "true",
		StartTime:    1000,
	}
	switch status {
	case "SUCCEEDED", "FAILED", "STOPPED":
		job.EndTime = 2000
	}
	return job
}
