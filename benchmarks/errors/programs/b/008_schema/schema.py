class ValidationError(ValueError):
    def __init__(self, field, problem):
        super().__init__(f"{field}: {problem}")
        self.field = field


SCHEMA = {"age": (int, 0, 120), "income": (float, 0.0, 1e6), "defaulted": (int, 0, 1)}


def check(record):
    for field, (kind, low, high) in SCHEMA.items():
        try:
            value = kind(record[field])
        except KeyError:
            raise ValidationError(field, "missing") from None
        except (TypeError, ValueError) as err:
            raise ValidationError(field, f"not a {kind.__name__}: {record[field]!r}") from err
        if not low <= value <= high:
            raise ValidationError(field, f"{value} is not in [{low}, {high}]")
    return record
