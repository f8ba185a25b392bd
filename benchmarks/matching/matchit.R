# Cardinality matching by MatchIt: Rscript matchit.R DATA TOLERANCES OUT RATIO SECONDS
arguments <- commandArgs(trailingOnly = TRUE)
if (!requireNamespace("MatchIt", quietly = TRUE) || !requireNamespace("Rglpk", quietly = TRUE)) quit(status = 3)
data <- read.csv(arguments[1])
columns <- setdiff(names(data), "treat")
tolerances <- setNames(scan(arguments[2], quiet = TRUE), columns)
ratio <- if (arguments[4] == "NA") NA else as.numeric(arguments[4])
match <- MatchIt::matchit(
  reformulate(columns, "treat"), data = data, method = "cardinality", estimand = "ATT", ratio = ratio,
  tols = tolerances, std.tols = FALSE, solver = "glpk", time = as.numeric(arguments[5])
)
write.table(which(match$weights > 0), arguments[3], row.names = FALSE, col.names = FALSE)
