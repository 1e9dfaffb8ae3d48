package nvmlfake

//go:generate go run ./internal/gen
