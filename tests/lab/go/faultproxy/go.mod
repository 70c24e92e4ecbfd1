module lab/faultproxy

go 1.26.0
