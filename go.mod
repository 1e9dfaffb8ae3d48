module github.com/gpushare/gpushare

go 1.25.0

require (
	github.com/NVIDIA/go-nvml v0.13.4-1
	github.com/stretchr/testify v1.12.1
	go.yaml.in/yaml/v3 v3.0.6
	golang.org/x/sync v0.21.0
	pgregory.net/rapid v1.3.0
)
